/** A buffer of pixels: tens of thousands of pieces a frame, each a pixel wide, are written into it; a canvas takes some µs for each. */

/** A part of a canvas, in pixels of the page: left, top, right, bottom. */
export type Area = readonly [number, number, number, number];

export class Pixels {
  private readonly canvas: OffscreenCanvas;
  private readonly context: OffscreenCanvasRenderingContext2D;
  private readonly image: ImageData;
  private readonly words: Uint32Array;
  /** The area that is painted, and the columns that are painted next. */
  private left = 0;
  private top = 0;
  private right = 0;
  private bottom = 0;
  private isPainted = false;
  private begin = 0;
  private end = 0;

  /** `scale`: pixels of the buffer for one of the page. */
  constructor(
    private readonly wide: number,
    private readonly high: number,
    readonly scale: number,
  ) {
    this.canvas = new OffscreenCanvas(wide, high);
    this.context = this.canvas.getContext("2d")!;
    this.image = this.context.createImageData(wide, high);
    this.words = new Uint32Array(this.image.data.buffer);
  }

  /** The buffer for an area of a canvas, empty there: that of the frame before, as long as it has this size. */
  static for(context: CanvasRenderingContext2D, [left, top, right, bottom]: Area): Pixels {
    const { canvas } = context;
    const { width, height } = canvas;
    const scale = context.getTransform().a;
    let found = buffers.get(canvas);
    if (found?.wide !== width || found.high !== height || found.scale !== scale) {
      found = new Pixels(Math.max(width, 1), Math.max(height, 1), scale);
      buffers.set(canvas, found);
    }
    found.limit(
      Math.max(Math.round(left * scale), 0),
      Math.max(Math.round(top * scale), 0),
      Math.min(Math.round(right * scale), found.wide),
      Math.min(Math.round(bottom * scale), found.high),
    );
    return found;
  }

  private limit(left: number, top: number, right: number, bottom: number): void {
    this.isPainted = false;
    [this.left, this.top, this.right, this.bottom] = [left, top, Math.max(right, left), Math.max(bottom, top)];
  }

  /** Only where something is painted: an area of charts has no pieces, and is drawn in each frame of a line that moves. */
  private clear(): void {
    const { left, top, right, bottom, wide, words } = this;
    if (left === 0 && right === wide) words.fill(0, top * wide, bottom * wide);
    else for (let row = top; row < bottom; row++) words.fill(0, row * wide + left, row * wide + right);
  }

  /** What is painted next is between these columns, in pixels of the page; false: none of them is in the area. */
  between(left: number, width: number): boolean {
    this.begin = Math.max(Math.round(left * this.scale), this.left);
    this.end = Math.min(Math.round((left + width) * this.scale), this.right);
    const isIn = this.begin < this.end;
    if (isIn && !this.isPainted) this.clear();
    this.isPainted ||= isIn;
    return isIn;
  }

  /** Paints rows, in pixels of the page. One that is covered in part gets its share: shares in one row add up. */
  rows(word: number, from: number, height: number): void {
    const { wide, scale, words, begin, end } = this;
    const [above, below] = [Math.max(from * scale, this.top), Math.min((from + height) * scale, this.bottom)];
    for (let row = Math.floor(above); row < below; row++) {
      const share = (row + 1 < below ? row + 1 : below) - (row > above ? row : above);
      const last = row * wide + end;
      let place = row * wide + begin;
      if (share < WHOLE) for (; place < last; place++) words[place] = mixed(words[place]!, word, share);
      else if (last - place > 8) words.fill(word, place, last);
      else for (; place < last; place++) words[place] = word;
    }
  }

  /**
   * Paints shares that stand on each other and fill rows of the canvas, from the lowest row upwards: a row that several have is their
   * mean. `heights`: in rows. Most of a picture that was zoomed out is this.
   */
  stack(words: Uint32Array, heights: Float64Array, lowest: number): void {
    let row = lowest | 0;
    // What of the row no share has yet, and the colours of those that have the rest.
    let [room, red, green, blue] = [1, 0, 0, 0];
    for (let number = 0; number < heights.length; number++) {
      let height = heights[number]!;
      if (height < LEAST) continue;
      const word = words[number]!;
      if (room < 1) {
        const share = height < room ? height : room;
        red += share * (word & 255);
        green += share * ((word >>> 8) & 255);
        blue += share * ((word >>> 16) & 255);
        room -= share;
        height -= share;
        if (room > LEAST) continue;
        this.row((255 << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5), row--);
        room = 1;
      }
      for (let whole = (height + LEAST) | 0; whole > 0; whole--) {
        this.row(word, row--);
        height--;
      }
      if (height < LEAST) continue;
      red = height * (word & 255);
      green = height * ((word >>> 8) & 255);
      blue = height * ((word >>> 16) & 255);
      room = 1 - height;
    }
  }

  private row(word: number, row: number): void {
    if (row < this.top || row >= this.bottom) return;
    const { words, wide, end } = this;
    const last = row * wide + end;
    for (let place = row * wide + this.begin; place < last; place++) words[place] = word;
  }

  /** Draws what was painted above what the canvas has. */
  show(onto: CanvasRenderingContext2D): void {
    const { left, top } = this;
    const [wide, high] = [this.right - left, this.bottom - top];
    // Each time that a canvas is drawn and written again the browser copies all of it.
    if (!this.isPainted || !wide || !high) return;
    this.context.putImageData(this.image, 0, 0, left, top, wide, high);
    onto.save();
    onto.resetTransform();
    onto.drawImage(this.canvas, left, top, wide, high, left, top, wide, high);
    onto.restore();
  }
}

const WHOLE = 0.996;
/** A part of a row that is none: sums of shares are not exact. */
const LEAST = 1e-6;
const buffers = new WeakMap<HTMLCanvasElement, Pixels>();
const words = new Map<string, number>();
/** A colour of the style sheet as the four bytes of a pixel: red is the lowest, as on every machine that has a browser. */
export function wordOf(colour: string): number {
  let word = words.get(colour);
  if (word === undefined) {
    const context = new OffscreenCanvas(1, 1).getContext("2d")!;
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    word = new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0]!;
    words.set(colour, word);
  }
  return word;
}

/** A pixel that has a share of another colour now, beside the shares that it had. */
function mixed(below: number, above: number, share: number): number {
  const had = below >>> 24;
  const has = Math.min(had + share * 255, 255);
  const part = Math.min((share * 255) / has, 1);
  const red = below & 255;
  const green = (below >>> 8) & 255;
  const blue = (below >>> 16) & 255;
  return (
    ((has << 24) |
      ((blue + (((above >>> 16) & 255) - blue) * part) << 16) |
      ((green + (((above >>> 8) & 255) - green) * part) << 8) |
      (red + ((above & 255) - red) * part)) >>>
    0
  );
}
