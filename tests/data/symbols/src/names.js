// Node.js: functions, methods, closures, a builtin that calls back, a regular expression.
'use strict';
function churn(value, turns) {
  for (let turn = 0; turn < turns; turn++) value = (Math.imul(value, 22695477) + 1) | 0;
  return value;
}
class Price {
  constructor(cents) { this.cents = cents; }
  raise(by) { this.cents = churn(this.cents + by, 3000); return this.cents; }
}
function recurse(depth, value) { return depth === 0 ? churn(value, 3000) : recurse(depth - 1, value) + 1; }

const used = () => process.cpuUsage().user / 1000;
const end = used() + Number(process.argv[2] ?? 300);
let sink = 1;
while (used() < end) {
  const prices = [3, 1, 2].map((cents) => new Price(cents + sink));
  for (const price of prices) sink = price.raise(sink);
  prices.sort((left, right) => churn(left.cents, 500) - right.cents);
  sink = (sink + recurse(6, sink)) | 0;
  sink += /(a+)+b/.test('aaaaaaaa' + sink) ? 1 : 0;
}
