/** A buffer of pixels: tens of thousands of pieces a frame, each a pixel wide, are written into it; a canvas takes some µs for each. */

export class Pixels {
  private readonly canvas: OffscreenCanvas;
  private readonly context: OffscreenCanvasRenderingContext2D;
  private readonly image: ImageData;
  private readonly words: Uint32Array;

  /** `scale`: pixels of the buffer for one of the page. */
  constructor(
    private readonly wide: number,
    private readonly high: number,
    private readonly scale: number,
  ) {
    this.canvas = new OffscreenCanvas(wide, high);
    this.context = this.canvas.getContext("2d")!;
    this.image = this.context.createImageData(wide, high);
    this.words = new Uint32Array(this.image.data.buffer);
  }

  /** The buffer for a canvas, empty: that of the frame before, as long as it has this size. */
  static for(context: CanvasRenderingContext2D): Pixels {
    const { canvas } = context;
    const { width, height } = canvas;
    const scale = context.getTransform().a;
    let found = buffers.get(canvas);
    if (found?.wide !== width || found.high !== height || found.scale !== scale) {
      found = new Pixels(Math.max(width, 1), Math.max(height, 1), scale);
      buffers.set(canvas, found);
    }
    found.words.fill(0);
    return found;
  }

  /** A rectangle, in pixels of the page. A row that it covers in part gets its share: shares in one row add up. */
  fill(colour: string, left: number, top: number, width: number, height: number): void {
    const { wide, high, scale, words } = this;
    const word = wordOf(colour);
    const begin = Math.max(Math.round(left * scale), 0);
    const end = Math.min(Math.round((left + width) * scale), wide);
    if (begin >= end) return;
    const [above, below] = [Math.max(top * scale, 0), Math.min((top + height) * scale, high)];
    for (let row = Math.floor(above); row < below; row++) {
      const share = (row + 1 < below ? row + 1 : below) - (row > above ? row : above);
      const last = row * wide + end;
      let place = row * wide + begin;
      if (share < WHOLE) for (; place < last; place++) words[place] = mixed(words[place]!, word, share);
      else if (last - place > 8) words.fill(word, place, last);
      else for (; place < last; place++) words[place] = word;
    }
  }

  /** Draws what was filled above what the canvas has. */
  show(onto: CanvasRenderingContext2D): void {
    this.context.putImageData(this.image, 0, 0);
    onto.save();
    onto.resetTransform();
    onto.drawImage(this.canvas, 0, 0);
    onto.restore();
  }
}

const WHOLE = 0.996;
const buffers = new WeakMap<HTMLCanvasElement, Pixels>();
const words = new Map<string, number>();
/** A colour of the style sheet as the four bytes of a pixel: red is the lowest, as on every machine that has a browser. */
function wordOf(colour: string): number {
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
