-- by_interrupt: whether an interrupt did a wakeup, and the waker only happened to run there: a hard one, or a soft one on an idle CPU, which sends nothing itself; false where nobody knows
-- takes: context, waker
coalesce($context = 'hardirq' OR $context = 'softirq' AND $waker = 0, false)
