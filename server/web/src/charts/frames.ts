// The line of frame times, drawn by columns of pixels: of a column's frames, which may be many, the
// shortest and the longest are all that shows.
import type uPlot from 'uplot';
import type { Timeline } from '../lib/types';

const STEP = 8; // values of one level to one of the next
const DENSE = 2; // frames a pixel from which columns are drawn instead of a line

// Lowest and highest of any range of values in a few dozen steps.
export class Pyramid {
    private readonly low: Float32Array[];
    private readonly high: Float32Array[];

    constructor(values: Float32Array) {
        this.low = [values];
        this.high = [values];
        for (let n = values.length; n > STEP; ) {
            const [low, high] = [this.low.at(-1)!, this.high.at(-1)!];
            n = Math.ceil(n / STEP);
            const [least, most] = [new Float32Array(n).fill(Infinity), new Float32Array(n).fill(-Infinity)];
            for (let i = 0; i < low.length; i++) {
                const to = Math.floor(i / STEP);
                least[to] = Math.min(least[to], low[i]);
                most[to] = Math.max(most[to], high[i]);
            }
            this.low.push(least);
            this.high.push(most);
        }
    }

    // Of [from, to), which is not empty.
    range(from: number, to: number): [number, number] {
        let low = Infinity;
        let high = -Infinity;
        let level = 0;
        let width = 1;
        for (let at = from; at < to; at += width) {
            while (level + 1 < this.low.length && at % (width * STEP) === 0 && at + width * STEP <= to) {
                level++;
                width *= STEP;
            }
            while (at + width > to) {
                level--;
                width /= STEP;
            }
            const i = at / width;
            low = Math.min(low, this.low[level][i]);
            high = Math.max(high, this.high[level][i]);
        }
        return [low, high];
    }
}

// The first index in [from, x.length) whose value is at least `value`.
export function lowerBound(x: ArrayLike<number>, value: number, from = 0): number {
    let low = from;
    let high = x.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (x[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

export class FrameLine {
    readonly x: Float64Array; // seconds
    readonly y: Float32Array; // milliseconds
    private readonly pyramid: Pyramid;
    private readonly gaps: number[]; // indices before which time is missing

    // Frames that count, with a gap wherever a second or more is missing between two of them.
    constructor(data: Timeline) {
        const f = data.frames ?? { start_us: [], interval_us: [], state: [] };
        const count = f.state.reduce((n, s) => n + (s === 0 ? 1 : 0), 0);
        this.x = new Float64Array(count);
        this.y = new Float32Array(count);
        this.gaps = [];
        let n = 0;
        let end = -1;
        for (let i = 0; i < f.start_us.length; i++) {
            if (f.state[i] !== 0) continue;
            if (end >= 0 && f.start_us[i] - end > 1e6) this.gaps.push(n);
            this.x[n] = f.start_us[i] / 1e6;
            this.y[n++] = f.interval_us[i] / 1000;
            end = f.start_us[i] + f.interval_us[i];
        }
        this.pyramid = new Pyramid(this.y);
    }

    draw(u: uPlot, colour: string, pixelRatio: number) {
        const { ctx, bbox } = u;
        const { min, max } = u.scales.x;
        if (!this.x.length || min === undefined || max === undefined) return;
        // a frame beyond each edge, so that the line leaves the picture
        const from = Math.max(0, lowerBound(this.x, min) - 1);
        const to = Math.min(this.x.length, lowerBound(this.x, max) + 1);
        if (to <= from) return;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        if (to - from > (DENSE * bbox.width) / pixelRatio) this.columns(u, from, to, colour, Math.max(1, Math.round(pixelRatio)));
        else this.line(u, from, to, colour, pixelRatio);
        ctx.restore();
    }

    private columns(u: uPlot, from: number, to: number, colour: string, wide: number) {
        const { ctx, bbox } = u;
        const { min, max } = u.scales.x as { min: number; max: number };
        const top = u.scales.y.max ?? 1;
        const pixel = (v: number) => Math.round(bbox.top + bbox.height * (1 - v / top));
        const step = ((max - min) / bbox.width) * wide;
        let gap = lowerBound(this.gaps, from + 1);
        let before = NaN; // the last frame of the column before, if the line goes on from it
        ctx.fillStyle = colour;
        for (let px = 0, at = from; px < bbox.width && at < to; px += wide) {
            const next = Math.min(to, lowerBound(this.x, min + (px / wide + 1) * step, at));
            if (next === at) continue;
            if (this.gaps[gap] <= at) {
                gap = lowerBound(this.gaps, at + 1, gap);
                before = NaN;
            }
            let [low, high] = this.pyramid.range(at, next);
            if (before < low) low = before;
            if (before > high) high = before;
            const upper = pixel(high);
            ctx.fillRect(bbox.left + px, upper, wide, Math.max(wide, pixel(low) - upper));
            before = this.y[next - 1];
            at = next;
        }
    }

    private line(u: uPlot, from: number, to: number, colour: string, wide: number) {
        const { ctx } = u;
        let gap = lowerBound(this.gaps, from + 1);
        ctx.beginPath();
        for (let i = from; i < to; i++) {
            const x = u.valToPos(this.x[i], 'x', true);
            const y = u.valToPos(this.y[i], 'y', true);
            if (i === from || i === this.gaps[gap]) {
                ctx.moveTo(x, y);
                if (i === this.gaps[gap]) gap++;
            } else ctx.lineTo(x, y);
        }
        ctx.strokeStyle = colour;
        ctx.lineWidth = wide;
        ctx.lineJoin = 'round';
        ctx.stroke();
    }
}
