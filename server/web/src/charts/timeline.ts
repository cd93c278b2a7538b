// A session's lanes over one time axis: frame times with scenes and marks, and hardware below them.
// Frame times are one line of up to some ten thousand points; dots are drawn for janks only.
import uPlot from 'uplot';
import { clock, num } from '../lib/format';
import { t } from '../lib/i18n';
import { causeName, levelName } from '../lib/terms';
import { colour } from '../lib/theme';
import type { JankMark, SceneSpan, Timeline } from '../lib/types';

export interface LaneData {
    key: string;
    name: string;
    unit: string;
    digits: number;
    x: number[]; // seconds
    series: { name: string; y: (number | null)[]; stepped?: boolean }[];
    floor?: boolean; // begins at 0
}

export interface View {
    from: number;
    to: number;
}

const CAP_MS = 250; // longer janks sit at the upper edge
const SCENE_TINTS = ['c1', 'c2', 'c4', 'c3', 'c5', 'c6'];
const LANE_PX = 18;
const MARKS_PX = 13;
const HIT_PX = 7;

interface Mark {
    at: number;
    kind: 'step' | 'memory' | 'crash' | 'feedback' | 'suspended';
    text: string;
}

function marksOf(data: Timeline): Mark[] {
    const at = (us: number) => us / 1e6;
    return [
        ...data.steps.map((s): Mark => ({ at: at(s.t_us), kind: 'step', text: s.name })),
        ...data.lifecycle.flatMap((l): Mark[] =>
            l.kind === 'low_memory'
                ? [{ at: at(l.t_us), kind: 'memory', text: t('low memory') }]
                : l.kind === 'suspended'
                  ? [{ at: at(l.t_us), kind: 'suspended', text: t('suspended') }]
                  : [],
        ),
        ...data.feedback.map((f): Mark => ({ at: at(f.t_us), kind: 'feedback', text: `${t('Feedback')}: ${f.text}` })),
        ...data.crashes.map((c): Mark => ({ at: at(c.t_us), kind: 'crash', text: `${t('Crash')}: ${c.reason || c.signal}` })),
    ].sort((a, b) => a.at - b.at);
}

// Frames that count, with a gap wherever some second is missing between two of them.
function frameLine(data: Timeline): [number[], (number | null)[]] {
    const f = data.frames ?? { start_us: [], interval_us: [], state: [] };
    const x: number[] = [];
    const y: (number | null)[] = [];
    let end = -1;
    for (let i = 0; i < f.start_us.length; i++) {
        if (f.state[i] !== 0) continue;
        const start = f.start_us[i];
        if (end >= 0 && start - end > 1e6) {
            x.push(end / 1e6);
            y.push(null);
        }
        x.push(start / 1e6);
        y.push(f.interval_us[i] / 1000);
        end = start + f.interval_us[i];
    }
    return [x, y];
}

export class SessionChart {
    private plots: uPlot[] = [];
    private readouts: ((i: number | null, at: number | null) => void)[] = [];
    private readonly sync = uPlot.sync(`session-${Math.random()}`);
    private readonly tip = document.createElement('div');
    private readonly marks: Mark[];
    private readonly end: number;
    private readonly tint: Map<string, string>;
    private readonly watch: ResizeObserver;
    private view: View;
    private busy = false;
    private pan: { x: number; view: View; width: number } | null = null;
    private chosen: number | null = null;

    constructor(
        private readonly host: HTMLElement,
        private readonly data: Timeline,
        lanes: LaneData[],
        view: View | null,
        private readonly onView: (view: View | null) => void,
        private readonly onJank: (index: number) => void,
    ) {
        this.end = Math.max(0.001, data.end_us / 1e6);
        this.view = view ?? { from: 0, to: this.end };
        this.marks = marksOf(data);
        const maps = [...new Set(data.scenes.map((s) => s.scene))];
        this.tint = new Map(maps.map((name, i) => [name, colour(SCENE_TINTS[i % SCENE_TINTS.length])]));
        this.tip.className = 'marktip';
        this.tip.hidden = true;
        host.append(this.tip);
        this.addFrames();
        lanes.forEach((lane, i) => this.addLane(lane, i === lanes.length - 1));
        this.watch = new ResizeObserver(() => this.resize());
        this.watch.observe(host);
        addEventListener('pointermove', this.drag);
        addEventListener('pointerup', this.drop);
    }

    destroy() {
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
        this.view = { from: start, to: start + width };
        this.busy = true;
        for (const p of this.plots) p.setScale('x', { min: this.view.from, max: this.view.to });
        this.busy = false;
        if (tell) this.onView(this.whole() ? null : this.view);
    }
    all = () => this.show(0, this.end);
    zoom(by: number) {
        const at = this.plots[0].cursor.left ?? -1;
        const middle = at >= 0 ? this.plots[0].posToVal(at, 'x') : (this.view.from + this.view.to) / 2;
        const width = (this.view.to - this.view.from) * by;
        const share = (middle - this.view.from) / (this.view.to - this.view.from);
        this.show(middle - share * width, middle + (1 - share) * width);
    }
    move(by: number) {
        const d = (this.view.to - this.view.from) * by;
        this.show(this.view.from + d, this.view.to + d);
    }
    whole = () => this.view.to - this.view.from >= this.end * 0.999;

    choose(index: number | null) {
        this.chosen = index;
        const jank = this.data.janks.find((j) => j.index === index);
        if (jank) {
            const at = jank.start_us / 1e6;
            if (at < this.view.from || at > this.view.to) {
                const half = (this.view.to - this.view.from) / 2;
                this.show(at - half, at + half);
            }
        }
        this.plots[0].redraw(false);
    }
    // The jank after (1) or before (-1) the chosen one.
    next(step: number): number | null {
        const list = this.data.janks;
        const now = list.findIndex((j) => j.index === this.chosen);
        const to = now < 0 ? (step > 0 ? 0 : list.length - 1) : now + step;
        return list[to]?.index ?? null;
    }

    private resize() {
        const width = this.host.clientWidth - 32;
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
        this.onView(this.whole() ? null : this.view);
    };

    // Lanes -----------------------------------------------------------------------------------

    private addFrames() {
        const [x, y] = frameLine(this.data);
        const longest = this.data.janks.reduce((most, j) => Math.max(most, j.duration_us / 1000), 0);
        const top = Math.max(60, Math.min(CAP_MS, longest * 1.08));
        const lane: LaneData = { key: 'frame', name: t('Frame time'), unit: 'ms', digits: 1, x, series: [{ name: '', y }], floor: true };
        this.addPlot(lane, { height: 250, top, frames: true, axis: false });
    }

    private addLane(lane: LaneData, last: boolean) {
        this.addPlot(lane, { height: last ? 136 : 110, frames: false, axis: last });
    }

    private caption(lane: LaneData): HTMLElement[] {
        const cap = document.createElement('div');
        const title = document.createElement('b');
        cap.className = 'cap';
        title.textContent = lane.name;
        cap.append(title);
        const values = lane.series.map((s, i) => {
            const item = document.createElement('span');
            const value = document.createElement('em');
            if (lane.series.length > 1) {
                const swatch = document.createElement('i');
                swatch.style.background = colour(`c${1 + (i % 6)}`);
                item.append(swatch, `${s.name} `);
            }
            item.append(value);
            cap.append(item);
            return value;
        });
        const time = document.createElement('span');
        if (lane.key === 'frame') cap.append(time);
        this.readouts.push((i, at) => {
            lane.series.forEach((s, k) => {
                const v = i === null ? null : s.y[i];
                const next = v === null || v === undefined ? '' : `${num(v, lane.digits)} ${lane.unit}`;
                if (values[k].textContent !== next) values[k].textContent = next;
            });
            if (lane.key === 'frame') {
                const scene = at === null ? undefined : this.sceneAt(at);
                time.textContent = at === null ? '' : `${clock(at * 1e6, true)}${scene ? ` · ${scene.scene}` : ''}`;
            }
        });
        return [cap];
    }

    private sceneAt(at: number): SceneSpan | undefined {
        return this.data.scenes.find((s) => at * 1e6 >= s.from_us && at * 1e6 < s.to_us);
    }

    private addPlot(lane: LaneData, how: { height: number; top?: number; frames: boolean; axis: boolean }) {
        const box = document.createElement('div');
        const plot = document.createElement('div');
        const soft = colour('faint');
        const grid = { stroke: colour('grid'), width: 1 };
        const slot = this.plots.length;
        box.className = 'lane';
        box.append(...this.caption(lane), plot);
        this.host.insertBefore(box, this.tip);

        const u = new uPlot(
            {
                width: Math.max(80, this.host.clientWidth - 32),
                height: how.height,
                padding: [how.frames ? LANE_PX + MARKS_PX + 6 : 6, 8, how.axis ? 0 : 4, 0],
                legend: { show: false },
                cursor: {
                    y: false,
                    sync: { key: this.sync.key, setSeries: false },
                    drag: { x: true, y: false, setScale: true, dist: 4 },
                    points: { size: 6 },
                    bind: {
                        dblclick: () => () => (this.all(), null),
                        mousedown: (self, _target, handler) => (e) => {
                            if (e.button === 0 && e.shiftKey) {
                                this.pan = { x: e.clientX, view: { ...this.view }, width: self.over.clientWidth };
                                return null;
                            }
                            return handler(e);
                        },
                    },
                },
                scales: {
                    x: { time: false, min: this.view.from, max: this.view.to },
                    y: { range: (_u, low, high) => rangeOf(lane, how.top, low, high) },
                },
                axes: [
                    {
                        show: how.axis,
                        values: (_u, v) => v.map((s) => clock(s * 1e6)),
                        stroke: soft,
                        grid,
                        ticks: { show: false },
                        size: 26,
                        space: 64,
                        font: '12px system-ui',
                        incrs: [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600],
                    },
                    {
                        size: 52,
                        stroke: soft,
                        grid,
                        ticks: { show: false },
                        values: (_u, v) => v.map((n) => num(n, n % 1 ? 1 : 0)),
                        space: 26,
                        font: '12px system-ui',
                    },
                ],
                series: [
                    {},
                    ...lane.series.map((s, i) => ({
                        label: s.name || lane.name,
                        stroke: colour(`c${1 + (i % 6)}`),
                        width: how.frames ? 1 : 1.5,
                        points: { show: false },
                        spanGaps: false,
                        ...(s.stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
                    })),
                ],
                hooks: {
                    drawClear: [(self) => this.drawBands(self, how.frames)],
                    draw: how.frames ? [(self) => this.drawTargets(self), (self) => this.drawMarks(self)] : [],
                    setScale: [
                        (self, key) => {
                            if (key !== 'x' || this.busy || !this.plots.length) return;
                            const { min, max } = self.scales.x;
                            if (min === undefined || max === undefined || (min === this.view.from && max === this.view.to)) return;
                            this.show(min, max);
                        },
                    ],
                    setCursor: [
                        (self) => {
                            const at = (self.cursor.left ?? -1) >= 0 ? self.posToVal(self.cursor.left!, 'x') : null;
                            this.readouts[slot]?.(at === null ? null : (self.cursor.idx ?? null), at);
                            if (how.frames) this.hover(self);
                        },
                    ],
                },
            },
            [lane.x, ...lane.series.map((s) => s.y)] as uPlot.AlignedData,
            plot,
        );
        if (how.frames) {
            u.over.addEventListener('click', () => {
                const jank = this.jankAt(u);
                if (jank) this.onJank(jank.index);
            });
        }
        this.plots.push(u);
    }

    // Drawing ---------------------------------------------------------------------------------

    // Scenes as a faint tint through all lanes and, above the first, as a labelled lane; time in the
    // background is hatched.
    private drawBands(u: uPlot, frames: boolean) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        const x = (s: number) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, u.valToPos(s, 'x', true)));
        const laneTop = bbox.top - (LANE_PX + MARKS_PX + 2) * r;
        ctx.save();
        for (const s of this.data.scenes) {
            const from = x(s.from_us / 1e6);
            const width = x(s.to_us / 1e6) - from;
            if (width < 0.5) continue;
            ctx.fillStyle = this.tint.get(s.scene)!;
            ctx.globalAlpha = 0.08;
            ctx.fillRect(from, bbox.top, width, bbox.height);
            if (!frames) continue;
            ctx.globalAlpha = 0.28;
            ctx.fillRect(from, laneTop, Math.max(1, width - r), LANE_PX * r);
            ctx.globalAlpha = 1;
            if (width > 24 * r) this.label(ctx, s.scene, from, laneTop, width);
        }
        ctx.globalAlpha = 1;
        ctx.fillStyle = colour('sunk');
        ctx.strokeStyle = colour('line');
        ctx.lineWidth = r;
        for (const b of this.data.background) {
            const from = x(b.from_us / 1e6);
            const width = x(b.to_us / 1e6) - from;
            if (width < 0.5) continue;
            ctx.save();
            ctx.beginPath();
            ctx.rect(from, bbox.top, width, bbox.height);
            ctx.fill();
            ctx.clip();
            ctx.beginPath();
            for (let d = from - bbox.height; d < from + width; d += 7 * r) {
                ctx.moveTo(d, bbox.top + bbox.height);
                ctx.lineTo(d + bbox.height, bbox.top);
            }
            ctx.stroke();
            ctx.restore();
        }
        ctx.restore();
    }

    private label(ctx: CanvasRenderingContext2D, text: string, left: number, top: number, width: number) {
        const r = devicePixelRatio;
        ctx.save();
        ctx.beginPath();
        ctx.rect(left, top, width - 3 * r, LANE_PX * r);
        ctx.clip();
        ctx.fillStyle = colour('text');
        ctx.font = `${11.5 * r}px system-ui`;
        ctx.textBaseline = 'middle';
        ctx.textAlign = 'left';
        ctx.fillText(text, left + 5 * r, top + (LANE_PX / 2 + 0.5) * r);
        ctx.restore();
    }

    private drawTargets(u: uPlot) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        const targets = this.data.targets;
        ctx.save();
        ctx.setLineDash([2 * r, 4 * r]);
        ctx.strokeStyle = colour('faint');
        ctx.fillStyle = colour('faint');
        ctx.font = `${10.5 * r}px system-ui`;
        ctx.textAlign = 'right';
        ctx.textBaseline = 'bottom';
        let told = '';
        targets.forEach((target, i) => {
            if (!target.target_us) return;
            const from = Math.max(this.view.from, target.t_us / 1e6);
            const to = Math.min(this.view.to, (targets[i + 1]?.t_us ?? this.data.end_us) / 1e6);
            if (to <= from) return;
            const y = Math.round(u.valToPos(target.target_us / 1000, 'y', true)) + 0.5;
            const end = u.valToPos(to, 'x', true);
            if (y < bbox.top) return;
            ctx.beginPath();
            ctx.moveTo(u.valToPos(from, 'x', true), y);
            ctx.lineTo(end, y);
            ctx.stroke();
            const says = `${num(1e6 / target.target_us)} FPS`;
            if (says !== told) ctx.fillText(says, end - 3 * r, y - 2 * r);
            told = says;
        });
        ctx.restore();
    }

    private drawMarks(u: uPlot) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        const { from, to } = this.view;
        const base = bbox.top - 3 * r;
        ctx.save();
        for (const m of this.marks) {
            if (m.at < from || m.at > to) continue;
            const x = u.valToPos(m.at, 'x', true);
            ctx.fillStyle = ctx.strokeStyle = colour(m.kind === 'step' ? 'faint' : m.kind === 'feedback' ? 'accent' : 'bad');
            if (m.kind === 'step') {
                ctx.fillRect(x - 0.5 * r, base - 6 * r, 1 * r, 6 * r);
                continue;
            }
            if (m.kind === 'crash' || m.kind === 'feedback') {
                ctx.setLineDash([4 * r, 3 * r]);
                ctx.lineWidth = 1.5 * r;
                ctx.beginPath();
                ctx.moveTo(x, bbox.top);
                ctx.lineTo(x, bbox.top + bbox.height);
                ctx.stroke();
                ctx.setLineDash([]);
            }
            ctx.font = `600 ${12 * r}px system-ui`;
            ctx.textAlign = 'center';
            ctx.textBaseline = 'bottom';
            ctx.fillText({ crash: '✕', feedback: '❝', memory: '▼', suspended: 'z' }[m.kind], x, base + 1 * r);
        }
        for (const j of this.data.janks) {
            const at = j.start_us / 1e6;
            if (at < from || at > to || j.level < 1) continue;
            this.drawJank(u, j, u.valToPos(at, 'x', true));
        }
        ctx.restore();
    }

    // Its level is told by shape as well: circle, larger circle, diamond.
    private drawJank(u: uPlot, j: JankMark, x: number) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        const y = Math.max(bbox.top + 4 * r, u.valToPos(j.duration_us / 1000, 'y', true));
        const size = [0, 3, 4, 4.6][j.level] * r;
        ctx.beginPath();
        if (j.level === 3) {
            ctx.moveTo(x, y - size * 1.25);
            ctx.lineTo(x + size * 1.25, y);
            ctx.lineTo(x, y + size * 1.25);
            ctx.lineTo(x - size * 1.25, y);
            ctx.closePath();
        } else ctx.arc(x, y, size, 0, 7);
        ctx.fillStyle = colour(['', 'minor', 'normal', 'severe'][j.level]);
        ctx.fill();
        ctx.lineWidth = r;
        ctx.strokeStyle = colour('card');
        ctx.stroke();
        if (j.index !== this.chosen) return;
        ctx.beginPath();
        ctx.arc(x, y, size + 4 * r, 0, 7);
        ctx.strokeStyle = colour('text');
        ctx.lineWidth = 1.5 * r;
        ctx.stroke();
    }

    // Hovering --------------------------------------------------------------------------------

    private jankAt(u: uPlot): JankMark | null {
        const { left, top } = u.cursor;
        if (left === undefined || left < 0) return null;
        let best: JankMark | null = null;
        let near = HIT_PX * HIT_PX * 2;
        for (const j of this.data.janks) {
            const dx = u.valToPos(j.start_us / 1e6, 'x') - left;
            if (Math.abs(dx) > HIT_PX) continue;
            const dy = Math.max(4, u.valToPos(j.duration_us / 1000, 'y')) - (top ?? 0);
            const d = dx * dx + Math.min(dy * dy, HIT_PX * HIT_PX);
            if (d < near) {
                near = d;
                best = j;
            }
        }
        return best;
    }

    private hover(u: uPlot) {
        const jank = this.jankAt(u);
        const left = u.cursor.left ?? -1;
        const mark = jank || left < 0 ? undefined : this.marks.find((m) => Math.abs(u.valToPos(m.at, 'x') - left) < 4);
        this.tip.hidden = !jank && !mark;
        u.over.style.cursor = jank ? 'pointer' : 'crosshair';
        if (this.tip.hidden) return;
        const text = jank
            ? `${clock(jank.start_us, true)} · ${num(jank.duration_us / 1000)} ms · ${levelName(jank.level)}\n${causeName(jank.cause)}`
            : `${clock(mark!.at * 1e6, true)} · ${mark!.text}`;
        if (this.tip.textContent !== text) this.tip.textContent = text;
        const x = u.over.offsetLeft + left + 16;
        const wide = this.host.clientWidth;
        this.tip.style.left = x > wide * 0.6 ? 'auto' : `${x + 14}px`;
        this.tip.style.right = x > wide * 0.6 ? `${wide - x + 14}px` : 'auto';
        this.tip.style.top = '4.2rem';
    }
}

function rangeOf(lane: LaneData, top: number | undefined, low: number | null, high: number | null): [number, number] {
    if (top !== undefined) return [0, top];
    if (low === null || high === null) return [0, 1];
    if (lane.floor) return [0, high * 1.12 || 1];
    const pad = Math.max(1, (high - low) * 0.12);
    return [Math.floor(low - pad), Math.ceil(high + pad)];
}
