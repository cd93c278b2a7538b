// A session's lanes over one time axis: frame times with scenes and marks, and hardware below them.
// However often the view moves, it is drawn once in a frame of the browser.
import uPlot from 'uplot';
import { clock, decimals, num } from '../lib/format';
import { t } from '../lib/i18n';
import { causeName, levelName } from '../lib/terms';
import { palette } from '../lib/theme';
import type { Timeline } from '../lib/types';
import { FrameLine } from './frames';
import { LANE_PX, MARKS_PX, Overlay } from './marks';

export interface LaneData {
    key: string;
    name: string;
    unit: string;
    digits: number;
    x: ArrayLike<number>; // seconds
    series: { name: string; y: ArrayLike<number | null | undefined>; stepped?: boolean }[]; // undefined: drawn on
    floor?: boolean; // begins at 0
}

export interface View {
    from: number;
    to: number;
}

interface Look {
    height: number;
    axis: boolean; // of time, below
    line?: FrameLine; // of the lane of frame times
    top?: number; // of its axis
}

const CAP_MS = 250; // longer janks sit at the upper edge
const EDGE_PX = 32; // left and right of the lanes
const SPARSE_PX = 40; // between samples, from which each is a dot: one alone makes no line
const THOUSANDTHS_PX = 16;
const NEAR_PX = 1e6; // as far as the lane goes: the cursor tells of each line its nearest sample

export class SessionChart {
    private plots: uPlot[] = [];
    private readouts: ((of: readonly (number | null)[] | null, at: number | null) => void)[] = [];
    private readonly sync = uPlot.sync(`session-${Math.random()}`);
    private readonly tip = document.createElement('div');
    private readonly end: number;
    private readonly colour = palette();
    private readonly over: Overlay;
    private readonly watch: ResizeObserver;
    private width: number;
    private now: View;
    private frame = 0;
    private pan: { x: number; view: View; width: number } | null = null;

    constructor(
        private readonly host: HTMLElement,
        private readonly data: Timeline,
        lanes: LaneData[],
        view: View | null,
        private readonly onView: (view: View | null) => void,
        private readonly onJank: (index: number) => void,
    ) {
        this.end = Math.max(0.001, data.end_us / 1e6);
        this.now = view ?? { from: 0, to: this.end };
        this.over = new Overlay(data, this.colour);
        this.width = host.clientWidth;
        this.tip.className = 'marktip';
        this.tip.hidden = true;
        host.append(this.tip);
        this.addFrames();
        lanes.forEach((lane, i) => this.addPlot(lane, { height: i === lanes.length - 1 ? 136 : 110, axis: i === lanes.length - 1 }));
        this.watch = new ResizeObserver(() => this.resize());
        this.watch.observe(host);
        addEventListener('pointermove', this.drag);
        addEventListener('pointerup', this.drop);
    }

    destroy() {
        cancelAnimationFrame(this.frame);
        this.watch.disconnect();
        removeEventListener('pointermove', this.drag);
        removeEventListener('pointerup', this.drop);
        for (const p of this.plots) p.destroy();
        this.host.textContent = '';
    }

    // Views -----------------------------------------------------------------------------------

    show(from: number, to: number, tell = true) {
        const width = Math.max(0.05, Math.min(to - from, this.end));
        const start = Math.max(0, Math.min(from, this.end - width));
        this.now = { from: start, to: start + width };
        this.draw();
        if (tell) this.onView(this.view());
    }
    // null: all of it
    view = (): View | null => (this.now.to - this.now.from >= this.end * 0.999 ? null : this.now);
    all = () => this.show(0, this.end);
    zoom(by: number) {
        const { from, to } = this.now;
        const left = this.plots[0].cursor.left ?? -1;
        const share = left >= 0 ? Math.min(1, (left * devicePixelRatio) / this.plots[0].bbox.width) : 0.5;
        const middle = from + share * (to - from);
        const width = (to - from) * by;
        this.show(middle - share * width, middle + (1 - share) * width);
    }
    move(by: number) {
        const d = (this.now.to - this.now.from) * by;
        this.show(this.now.from + d, this.now.to + d);
    }

    choose(index: number | null) {
        if (index === this.over.chosen) return;
        this.over.chosen = index;
        const jank = this.data.janks.find((j) => j.index === index);
        const at = jank ? jank.start_us / 1e6 : this.now.from;
        if (at >= this.now.from && at <= this.now.to) return this.plots[0].redraw(false);
        const half = (this.now.to - this.now.from) / 2;
        this.show(at - half, at + half);
    }
    // The jank after (1) or before (-1) the chosen one.
    next(step: number): number | null {
        const list = this.data.janks;
        const now = list.findIndex((j) => j.index === this.over.chosen);
        const to = now < 0 ? (step > 0 ? 0 : list.length - 1) : now + step;
        return list[to]?.index ?? null;
    }

    private draw() {
        this.frame ||= requestAnimationFrame(() => {
            const { from, to } = this.now;
            this.frame = 0;
            for (const p of this.plots)
                if (p.scales.x.min !== from || p.scales.x.max !== to) p.batch(() => p.setScale('x', { min: from, max: to }));
        });
    }

    private resize() {
        this.width = this.host.clientWidth;
        const width = this.width - EDGE_PX;
        if (width < 50) return;
        for (const p of this.plots) if (p.width !== width) p.setSize({ width, height: p.height });
    }

    private drag = (e: PointerEvent) => {
        if (!this.pan) return;
        const d = ((this.pan.x - e.clientX) / this.pan.width) * (this.pan.view.to - this.pan.view.from);
        this.show(this.pan.view.from + d, this.pan.view.to + d, false);
    };
    private drop = () => {
        if (!this.pan) return;
        this.pan = null;
        this.onView(this.view());
    };

    // Lanes -----------------------------------------------------------------------------------

    private addFrames() {
        const line = new FrameLine(this.data);
        const longest = this.data.janks.reduce((most, j) => Math.max(most, j.duration_us / 1000), 0);
        const top = Math.max(60, Math.min(CAP_MS, longest * 1.08));
        const lane: LaneData = { key: 'frame', name: t('Frame time'), unit: 'ms', digits: 1, x: line.x, series: [{ name: '', y: line.y }], floor: true };
        this.addPlot(lane, { height: 250, axis: false, line, top });
    }

    private caption(lane: LaneData, frames: boolean): HTMLElement {
        const cap = document.createElement('div');
        const title = document.createElement('b');
        cap.className = 'cap';
        title.textContent = lane.name;
        cap.append(title);
        if (lane.unit) {
            const unit = document.createElement('small');
            unit.textContent = lane.unit;
            title.append(' ', unit);
        }
        const values = lane.series.map((s, i) => {
            const item = document.createElement('span');
            const value = document.createElement('em');
            if (lane.series.length > 1) {
                const swatch = document.createElement('i');
                swatch.style.background = this.colour(`c${1 + (i % 6)}`);
                item.append(swatch, `${s.name} `);
            }
            item.append(value);
            cap.append(item);
            return value;
        });
        const time = document.createElement('span');
        if (frames) cap.append(time);
        this.readouts.push((of, at) => {
            lane.series.forEach((s, k) => {
                const i = of?.[k + 1];
                const v = i === null || i === undefined ? null : s.y[i];
                say(values[k], v === null || v === undefined ? '' : `${num(v, lane.digits)} ${lane.unit}`);
            });
            if (!frames) return;
            const scene = at === null ? undefined : this.over.sceneAt(at);
            say(time, at === null ? '' : `${clock(at * 1e6, true)}${scene ? ` · ${scene.scene}` : ''}`);
        });
        return cap;
    }

    private addPlot(lane: LaneData, look: Look) {
        const box = document.createElement('div');
        const plot = document.createElement('div');
        const frames = look.line !== undefined;
        box.className = 'lane';
        box.append(this.caption(lane, frames), plot);
        this.host.insertBefore(box, this.tip);
        const u = new uPlot(
            {
                width: Math.max(80, this.width - EDGE_PX),
                height: look.height,
                padding: [frames ? LANE_PX + MARKS_PX + 6 : 6, 16, look.axis ? 0 : 4, 0],
                legend: { show: false },
                cursor: this.cursor(),
                scales: {
                    x: { time: false, min: this.now.from, max: this.now.to },
                    y: { range: look.top ? [0, look.top] : (_u, low, high) => rangeOf(lane, low, high) },
                },
                axes: this.axes(look.axis),
                series: [{}, ...this.series(lane, frames)],
                hooks: this.hooks(this.plots.length, look.line),
            },
            [lane.x, ...lane.series.map((s) => s.y)] as uPlot.AlignedData,
            plot,
        );
        if (frames)
            u.over.addEventListener('click', () => {
                const jank = this.over.jankAt(u);
                if (jank) this.onJank(jank.index);
            });
        this.plots.push(u);
    }

    private cursor(): uPlot.Cursor {
        return {
            y: false,
            sync: { key: this.sync.key, setSeries: false },
            drag: { x: true, y: false, setScale: false, dist: 4 },
            points: { size: 6 },
            hover: { prox: NEAR_PX },
            bind: {
                dblclick: () => () => (this.all(), null),
                mousedown: (self, _target, handler) => (e) => {
                    if (e.button === 0 && e.shiftKey) {
                        this.pan = { x: e.clientX, view: { ...this.now }, width: self.over.clientWidth };
                        return null;
                    }
                    return handler(e);
                },
            },
        };
    }

    private axes(time: boolean): uPlot.Axis[] {
        const shared = { stroke: this.colour('faint'), grid: { stroke: this.colour('grid'), width: 1 }, ticks: { show: false }, font: '12px system-ui' };
        return [
            {
                ...shared,
                show: time,
                values: (_u, v, _axis, _space, step) => v.map((s) => this.timeOf(s, step)),
                size: 26,
                space: 72,
                incrs: [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600],
            },
            { ...shared, size: 52, space: 26, values: (_u, v, _axis, _space, step) => v.map((n) => num(n, decimals(step))) },
        ];
    }

    // One with thousandths has no room at the right edge.
    private timeOf(s: number, step: number): string {
        const { from, to } = this.now;
        if (step < 1 && ((to - s) / (to - from)) * this.width < THOUSANDTHS_PX) return '';
        return clock(Math.round(s * 1e3) * 1e3, step < 1);
    }

    private series(lane: LaneData, frames: boolean): uPlot.Series[] {
        return lane.series.map((s, i) => ({
            label: s.name || lane.name,
            stroke: this.colour(`c${1 + (i % 6)}`),
            width: 1.5,
            points: { show: !frames && ((u, k, from, to) => sparse(u, k, from, to)), size: 5 },
            spanGaps: false,
            auto: !frames,
            ...(frames ? { paths: () => null } : s.stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
        }));
    }

    private hooks(slot: number, line: FrameLine | undefined): uPlot.Hooks.Arrays {
        return {
            drawClear: [(self) => this.over.bands(self, line !== undefined)],
            drawSeries: line ? [(self) => line.draw(self, this.colour('c1'), devicePixelRatio)] : [],
            draw: line ? [(self) => this.over.targets(self), (self) => this.over.events(self)] : [],
            setSelect: [
                (self) => {
                    const { left, width } = self.select;
                    if (width <= 0) return;
                    const [from, to] = [self.posToVal(left, 'x'), self.posToVal(left + width, 'x')];
                    self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
                    this.show(from, to);
                },
            ],
            setCursor: [
                (self) => {
                    const at = (self.cursor.left ?? -1) >= 0 ? self.posToVal(self.cursor.left!, 'x') : null;
                    this.readouts[slot]?.(at === null ? null : (self.cursor.idxs ?? null), at);
                    if (line) this.hover(self);
                },
            ],
        };
    }

    private hover(u: uPlot) {
        const jank = this.over.jankAt(u);
        const mark = jank ? null : this.over.markAt(u);
        const hand = jank ? 'pointer' : 'crosshair';
        if (u.over.style.cursor !== hand) u.over.style.cursor = hand;
        if (this.tip.hidden !== (!jank && !mark)) this.tip.hidden = !jank && !mark;
        if (this.tip.hidden) return;
        const text = jank
            ? `${clock(jank.start_us, true)} · ${num(jank.duration_us / 1000)} ms · ${levelName(jank.level)}\n${causeName(jank.cause)}`
            : `${clock(mark!.at * 1e6, true)} · ${mark!.text}`;
        const x = u.bbox.left / devicePixelRatio + (u.cursor.left ?? 0) + 16;
        const right = x > this.width * 0.6;
        say(this.tip, text);
        this.tip.style.left = right ? 'auto' : `${x + 14}px`;
        this.tip.style.right = right ? `${this.width - x + 14}px` : 'auto';
        this.tip.style.top = '4.2rem';
    }
}

function sparse(u: uPlot, series: number, from: number, to: number): boolean {
    const y = u.data[series];
    let most = u.bbox.width / devicePixelRatio / SPARSE_PX;
    for (let i = from; i <= to && most >= 0; i++) if (y[i] !== null && y[i] !== undefined) most--;
    return most >= 0;
}

function say(at: HTMLElement, text: string) {
    if (at.textContent !== text) at.textContent = text;
}

function rangeOf(lane: LaneData, low: number | null, high: number | null): [number, number] {
    if (low === null || high === null) return [0, 1];
    if (lane.floor) return [0, high * 1.12 || 1];
    const pad = Math.max(1, (high - low) * 0.12);
    return [Math.floor(low - pad), Math.ceil(high + pad)];
}
