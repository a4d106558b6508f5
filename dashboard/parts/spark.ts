// Draws the small plots. Colours are read from the style sheet once per theme; nothing is allocated per point.
const colours = new Map<string, string>();

/** After a change of the theme. */
export function forgetColours(): void {
  colours.clear();
}

export function colourOf(property: string): string {
  let colour = colours.get(property);
  if (colour === undefined) {
    colour = getComputedStyle(document.documentElement).getPropertyValue(property).trim();
    colours.set(property, colour);
  }
  return colour;
}

interface SparkOptions {
  /** In CSS pixels. Reading it from the element would force a layout after every cell that was written. */
  readonly width: number;
  readonly height: number;
  readonly colour: string;
  /** The top of the plot is the highest value, but at least this. */
  readonly atLeast: number;
  readonly isFilled: boolean;
  /** How many samples the width holds: a short history stands at the right. */
  readonly slots: number;
}

export function drawSpark(canvas: HTMLCanvasElement, values: Float64Array, options: SparkOptions): void {
  const { height, width } = options;
  if (width === 0 || height === 0) return;
  const scale = window.devicePixelRatio;
  const [pixelWidth, pixelHeight] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== pixelWidth) canvas.width = pixelWidth;
  if (canvas.height !== pixelHeight) canvas.height = pixelHeight;
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  let top = options.atLeast;
  for (const value of values) if (value > top) top = value;
  const step = width / Math.max(1, options.slots - 1);
  const first = width - step * (values.length - 1);
  const yOf = (value: number) => height - 1 - (height - 3) * (value / (top * 1.1));
  context.strokeStyle = colourOf(options.colour);
  context.fillStyle = context.strokeStyle;
  context.lineWidth = 1.25;
  context.lineJoin = 'round';
  let begin = 0;
  while (begin < values.length) {
    while (begin < values.length && Number.isNaN(values[begin])) begin += 1;
    let end = begin;
    while (end < values.length && !Number.isNaN(values[end])) end += 1;
    if (end > begin)
      drawRun(context, { values, begin, end, first, step, height, yOf, isFilled: options.isFilled });
    begin = end;
  }
}

interface Run {
  readonly values: Float64Array;
  readonly begin: number;
  readonly end: number;
  readonly first: number;
  readonly step: number;
  readonly height: number;
  readonly yOf: (value: number) => number;
  readonly isFilled: boolean;
}

function drawRun(
  context: CanvasRenderingContext2D,
  { begin, end, first, height, isFilled, step, values, yOf }: Run,
): void {
  context.beginPath();
  for (let at = begin; at < end; at += 1) context.lineTo(first + at * step, yOf(values[at] ?? 0));
  // A single sample between gaps is a dot.
  if (end - begin === 1) context.lineTo(first + begin * step + 1, yOf(values[begin] ?? 0));
  context.stroke();
  if (!isFilled) return;
  context.lineTo(first + (end - 1) * step, height);
  context.lineTo(first + begin * step, height);
  context.closePath();
  context.globalAlpha = 0.14;
  context.fill();
  context.globalAlpha = 1;
}
