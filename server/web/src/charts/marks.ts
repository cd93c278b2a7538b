// What stands over the lanes of a session: scenes, time in the background, targets, marks, janks.
import type uPlot from 'uplot';
import { num } from '../lib/format';
import { t } from '../lib/i18n';
import type { JankMark, SceneSpan, Timeline } from '../lib/types';
import { lowerBound } from './frames';

type Palette = (name: string) => string;

const SCENE_TINTS = ['c1', 'c2', 'c4', 'c3', 'c5', 'c6'];
export const LANE_PX = 18;
export const MARKS_PX = 13;
const HIT_PX = 7;

export interface Mark {
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

export class Overlay {
    private readonly marks: Mark[];
    private readonly markTimes: number[];
    private readonly janks: JankMark[]; // by time
    private readonly jankTimes: number[];
    private readonly tint: Map<string, string>;
    chosen: number | null = null;

    constructor(
        private readonly data: Timeline,
        private readonly colour: Palette,
    ) {
        this.marks = marksOf(data);
        this.markTimes = this.marks.map((m) => m.at);
        this.janks = data.janks.filter((j) => j.level > 0).sort((a, b) => a.start_us - b.start_us);
        this.jankTimes = this.janks.map((j) => j.start_us / 1e6);
        const maps = [...new Set(data.scenes.map((s) => s.scene))];
        this.tint = new Map(maps.map((name, i) => [name, colour(SCENE_TINTS[i % SCENE_TINTS.length])]));
    }

    sceneAt(at: number): SceneSpan | undefined {
        return this.data.scenes.find((s) => at * 1e6 >= s.from_us && at * 1e6 < s.to_us);
    }

    // Drawing ---------------------------------------------------------------------------------

    // Scenes as a faint tint through all lanes and, above the first, as a labelled lane; time in the
    // background is hatched.
    bands(u: uPlot, first: boolean) {
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
            if (!first) continue;
            ctx.globalAlpha = 0.28;
            ctx.fillRect(from, laneTop, Math.max(1, width - r), LANE_PX * r);
            ctx.globalAlpha = 1;
            if (width > 24 * r) this.label(ctx, s.scene, from, laneTop, width);
        }
        ctx.globalAlpha = 1;
        for (const b of this.data.background) {
            const from = x(b.from_us / 1e6);
            const width = x(b.to_us / 1e6) - from;
            if (width >= 0.5) this.hatch(u, from, width);
        }
        ctx.restore();
    }

    private hatch(u: uPlot, from: number, width: number) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        ctx.save();
        ctx.fillStyle = this.colour('sunk');
        ctx.strokeStyle = this.colour('line');
        ctx.lineWidth = r;
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

    private label(ctx: CanvasRenderingContext2D, text: string, left: number, top: number, width: number) {
        const r = devicePixelRatio;
        ctx.save();
        ctx.beginPath();
        ctx.rect(left, top, width - 3 * r, LANE_PX * r);
        ctx.clip();
        ctx.fillStyle = this.colour('text');
        ctx.font = `${11.5 * r}px system-ui`;
        ctx.textBaseline = 'middle';
        ctx.textAlign = 'left';
        ctx.fillText(text, left + 5 * r, top + (LANE_PX / 2 + 0.5) * r);
        ctx.restore();
    }

    targets(u: uPlot) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        const view = u.scales.x as { min: number; max: number };
        const targets = this.data.targets;
        ctx.save();
        ctx.setLineDash([2 * r, 4 * r]);
        ctx.strokeStyle = this.colour('faint');
        ctx.fillStyle = this.colour('faint');
        ctx.font = `${10.5 * r}px system-ui`;
        ctx.textAlign = 'right';
        ctx.textBaseline = 'bottom';
        let told = '';
        targets.forEach((target, i) => {
            if (!target.target_us) return;
            const from = Math.max(view.min, target.t_us / 1e6);
            const to = Math.min(view.max, (targets[i + 1]?.t_us ?? this.data.end_us) / 1e6);
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

    events(u: uPlot) {
        const view = u.scales.x as { min: number; max: number };
        u.ctx.save();
        this.steps(u, view);
        for (let i = lowerBound(this.markTimes, view.min); this.markTimes[i] <= view.max; i++)
            if (this.marks[i].kind !== 'step') this.mark(u, this.marks[i]);
        for (let i = lowerBound(this.jankTimes, view.min); this.jankTimes[i] <= view.max; i++)
            this.jank(u, this.janks[i], u.valToPos(this.jankTimes[i], 'x', true));
        u.ctx.restore();
    }

    private steps(u: uPlot, view: { min: number; max: number }) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        const base = bbox.top - 3 * r;
        let drawn = -1;
        ctx.fillStyle = this.colour('faint');
        for (let i = lowerBound(this.markTimes, view.min); this.markTimes[i] <= view.max; i++) {
            if (this.marks[i].kind !== 'step') continue;
            const x = Math.round(u.valToPos(this.markTimes[i], 'x', true) - 0.5 * r);
            if (x !== drawn) ctx.fillRect(x, base - 6 * r, r, 6 * r);
            drawn = x;
        }
    }

    private mark(u: uPlot, m: Mark) {
        const { ctx, bbox } = u;
        const r = devicePixelRatio;
        const x = u.valToPos(m.at, 'x', true);
        ctx.fillStyle = ctx.strokeStyle = this.colour(m.kind === 'feedback' ? 'accent' : 'bad');
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
        ctx.fillText({ step: '', crash: '✕', feedback: '❝', memory: '▼', suspended: 'z' }[m.kind], x, bbox.top - 2 * r);
    }

    // Its level is told by shape as well: circle, larger circle, diamond.
    private jank(u: uPlot, j: JankMark, x: number) {
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
        ctx.fillStyle = this.colour(['', 'minor', 'normal', 'severe'][j.level]);
        ctx.fill();
        ctx.lineWidth = r;
        ctx.strokeStyle = this.colour('card');
        ctx.stroke();
        if (j.index !== this.chosen) return;
        ctx.beginPath();
        ctx.arc(x, y, size + 4 * r, 0, 7);
        ctx.strokeStyle = this.colour('text');
        ctx.lineWidth = 1.5 * r;
        ctx.stroke();
    }

    // Under the mouse -------------------------------------------------------------------------

    jankAt(u: uPlot): JankMark | null {
        const { left, top } = u.cursor;
        if (left === undefined || left < 0) return null;
        let best: JankMark | null = null;
        let near = HIT_PX * HIT_PX * 2;
        const to = u.posToVal(left + HIT_PX, 'x');
        for (let i = lowerBound(this.jankTimes, u.posToVal(left - HIT_PX, 'x')); this.jankTimes[i] <= to; i++) {
            const dx = u.valToPos(this.jankTimes[i], 'x') - left;
            const dy = Math.max(4, u.valToPos(this.janks[i].duration_us / 1000, 'y')) - (top ?? 0);
            const d = dx * dx + Math.min(dy * dy, HIT_PX * HIT_PX);
            if (d < near) {
                near = d;
                best = this.janks[i];
            }
        }
        return best;
    }

    markAt(u: uPlot): Mark | null {
        const left = u.cursor.left ?? -1;
        const i = left < 0 ? this.marks.length : lowerBound(this.markTimes, u.posToVal(left - 4, 'x'));
        return this.markTimes[i] < u.posToVal(left + 4, 'x') ? this.marks[i] : null;
    }
}
