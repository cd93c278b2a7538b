// Frame times and hardware over time, and what moves the view over them.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { SessionChart, type View as Span } from '../../charts/timeline';
import { num, span } from '../../lib/format';
import { t } from '../../lib/i18n';
import { lanesOf } from '../../lib/lanes';
import { setQuery, useValue } from '../../lib/router';
import { useShownTheme } from '../../lib/theme';
import type { Timeline } from '../../lib/types';
import { Card } from '../../ui/pieces';

// The address follows a view that has come to rest: while it moves, nothing else on the page does.
const REST_MS = 200;

function spanOf(t0: string | null, t1: string | null): Span | null {
    return t0 !== null && t1 !== null && Number(t1) > Number(t0) ? { from: Number(t0), to: Number(t1) } : null;
}
const same = (a: Span | null, b: Span | null) =>
    a === b || (a !== null && b !== null && Math.abs(a.from - b.from) < 0.001 && Math.abs(a.to - b.to) < 0.001);

// The chart in `host`, kept to the address: the view, the lanes, the chosen jank.
function useChart(data: Timeline, chosen: number | null) {
    const theme = useShownTheme();
    const picked = useValue('lanes') ?? '';
    const t0 = useValue('t0');
    const t1 = useValue('t1');
    const host = useRef<HTMLDivElement>(null);
    const chart = useRef<SessionChart | null>(null);
    const lanes = useMemo(() => lanesOf(data, picked), [data, picked]);
    const view = useRef(spanOf(t0, t1)); // what the chart shows; the address may be behind it
    const told = useRef(view.current); // what the address was last told, or said
    const rest = useRef(0);

    useEffect(() => {
        const tell = (v: Span | null) => {
            view.current = v;
            clearTimeout(rest.current);
            rest.current = setTimeout(() => {
                told.current = v;
                setQuery({ t0: v ? v.from.toFixed(3) : null, t1: v ? v.to.toFixed(3) : null });
            }, REST_MS);
        };
        const own = new SessionChart(host.current!, data, lanes.shown, view.current, tell, (index) => setQuery({ jank: index }));
        chart.current = own;
        if (chosen !== null) own.choose(chosen);
        performance.mark('fw-timeline');
        return () => own.destroy();
    }, [data, lanes, theme]);
    useEffect(() => () => clearTimeout(rest.current), []);
    useEffect(() => {
        const asked = spanOf(t0, t1);
        if (same(asked, told.current)) return;
        clearTimeout(rest.current);
        told.current = view.current = asked;
        chart.current?.show(asked?.from ?? 0, asked?.to ?? data.end_us / 1e6, false);
    }, [t0, t1]);
    useEffect(() => chart.current?.choose(chosen), [chosen]);
    return { host, chart, lanes };
}

function useKeys(chart: { current: SessionChart | null }) {
    useEffect(() => {
        const press = (e: KeyboardEvent) => {
            const c = chart.current;
            if (!c || e.ctrlKey || e.metaKey || e.altKey || (e.target as HTMLElement).closest('input,textarea,select,dialog')) return;
            const step = e.key === 'n' ? 1 : e.key === 'p' ? -1 : 0;
            if (e.key === 'w') c.zoom(0.6);
            else if (e.key === 's') c.zoom(1 / 0.6);
            else if (e.key === 'a') c.move(-0.25);
            else if (e.key === 'd') c.move(0.25);
            else if (e.key === '0') c.all();
            else if (step) {
                const to = c.next(step);
                if (to !== null) setQuery({ jank: to });
            } else return;
            e.preventDefault();
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, []);
}

export function View({ data, chosen }: { data: Timeline; chosen: number | null }) {
    const { host, chart, lanes } = useChart(data, chosen);
    const shown = lanes.shown.map((l) => l.key);
    useKeys(chart);

    const flip = (key: string) => {
        const next = shown.includes(key) ? shown.filter((k) => k !== key) : [...shown, key];
        setQuery({ lanes: next.join(',') || 'none' });
    };
    const c = () => chart.current!;
    return (
        <Card
            id="timeline"
            flush
            title={t('Timeline')}
            note={
                <span class="no-print">
                    {t('{n} {n|frame|frames} · drag to zoom, Shift-drag to move, double click for all, keys', { n: num(data.frame_count) })} <kbd>W</kbd> <kbd>A</kbd> <kbd>S</kbd> <kbd>D</kbd>
                </span>
            }
            tools={
                <>
                    <span class="group" role="group" aria-label={t('View')}>
                        <button type="button" aria-label={t('To the left')} onClick={() => c().move(-0.25)}>
                            ←
                        </button>
                        <button type="button" aria-label={t('Zoom out')} onClick={() => c().zoom(1 / 0.6)}>
                            −
                        </button>
                        <button type="button" onClick={() => c().all()}>
                            {t('All')}
                        </button>
                        <button type="button" aria-label={t('Zoom in')} onClick={() => c().zoom(0.6)}>
                            +
                        </button>
                        <button type="button" aria-label={t('To the right')} onClick={() => c().move(0.25)}>
                            →
                        </button>
                    </span>
                </>
            }
        >
            <div class="row no-print" style={{ padding: '.2rem 1rem .1rem', gap: '.3rem' }} role="group" aria-label={t('Lanes')}>
                {lanes.all.map((l) => (
                    <button type="button" class="small" style={{ minHeight: '1.7rem', padding: '.05rem .55rem' }} aria-pressed={shown.includes(l.key)} onClick={() => flip(l.key)}>
                        {l.name}
                    </button>
                ))}
                <span class="grow" />
                <span class="small soft row" style={{ gap: '.35rem' }}>
                    <span class="dot minor" /> &gt; 100 ms <span class="dot normal" /> &gt; 250 ms <span class="dot severe" /> &gt; 500 ms
                </span>
            </div>
            <div
                class="lanes"
                ref={host}
                role="img"
                aria-label={t('Frame times and hardware over {length}: {janks} {janks|jank|janks}. The tables below tell the same.', {
                    length: span(data.end_us),
                    janks: data.janks.length,
                })}
            />
        </Card>
    );
}
