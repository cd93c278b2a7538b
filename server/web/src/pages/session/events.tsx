// What happened in a session: its scenes, its events, its crashes and what the player said.
import { useMemo } from 'preact/hooks';
import { clock, ms, num, percent, span } from '../../lib/format';
import { t } from '../../lib/i18n';
import { Link, url, useParam } from '../../lib/router';
import { causeName } from '../../lib/terms';
import type { Session, Slice, Timeline } from '../../lib/types';
import { Card, Empty, Meter } from '../../ui/pieces';
import { Frames } from '../../ui/stack';
import { Csv, Table, type Column } from '../../ui/table';
import { janksOf } from './facts';
import { look } from './look';

export function Scenes({ slices, session }: { slices: Slice[]; session: Session }) {
    const rows = slices.filter((s) => s.scene);
    const total = rows.reduce((sum, s) => sum + s.foreground_us, 0);
    const columns: Column<Slice>[] = [
        { key: 'scene', label: t('Scene'), cell: (s) => <Link href={url('/sessions', { scene: s.scene, build: session.build_id })}>{s.scene}</Link>, value: (s) => s.scene },
        {
            key: 'time',
            label: t('Time'),
            unit: 's',
            right: true,
            cell: (s) => (
                <span class="nowrap">
                    <Meter share={s.foreground_us / total} label={percent(s.foreground_us / total)} /> {span(s.foreground_us)}
                </span>
            ),
            value: (s) => s.foreground_us / 1e6,
        },
        { key: 'frames', label: t('Frames'), right: true, cell: (s) => num(s.frames), value: (s) => s.frames },
        { key: 'p50', label: 'P50 ms', right: true, cell: (s) => ms(s.p50_us), value: (s) => s.p50_us / 1000 },
        { key: 'p90', label: 'P90 ms', right: true, cell: (s) => ms(s.p90_us), value: (s) => s.p90_us / 1000 },
        { key: 'p99', label: 'P99 ms', right: true, cell: (s) => ms(s.p99_us), value: (s) => s.p99_us / 1000 },
        { key: 'janks', label: t('Janks'), right: true, cell: (s) => num(janksOf(s)), value: (s) => janksOf(s) },
    ];
    return (
        <Card flush title={t('Scenes')} tools={<Csv name="scenes" columns={columns} rows={rows} />}>
            {rows.length ? (
                <Table id="sc" caption={t('Scenes')} columns={columns} rows={rows} few={(s) => s.frames < 600} />
            ) : (
                <Empty title={t('The game named no scene')} />
            )}
        </Card>
    );
}

interface Event {
    t_us: number;
    sign: string;
    what: string;
    tone: string;
}

function eventsOf(data: Timeline): Event[] {
    const life: Record<string, string> = {
        background: t('went to the background'),
        foreground: t('came to the foreground'),
        low_memory: t('low memory'),
        suspended: t('suspended'),
    };
    return [
        ...data.scenes.map((s) => ({ t_us: s.from_us, sign: '▸', what: s.scene, tone: '' })),
        ...data.lifecycle.map((l) => ({ t_us: l.t_us, sign: '●', what: life[l.kind] ?? l.kind, tone: l.kind === 'low_memory' ? 'error-text' : 'soft' })),
        ...data.steps.map((s) => ({ t_us: s.t_us, sign: '·', what: s.name, tone: '' })),
        ...data.feedback.map((f) => ({ t_us: f.t_us, sign: '❝', what: f.text, tone: '' })),
        ...data.crashes.map((c) => ({ t_us: c.t_us, sign: '✕', what: `${t('Crash')}: ${c.reason}`, tone: 'error-text' })),
        ...data.janks.filter((j) => j.level > 1).map((j) => ({ t_us: j.start_us, sign: '◆', what: t('{ms} ms jank, {cause}', { ms: num(j.duration_us / 1000), cause: causeName(j.cause) }), tone: '' })),
    ].sort((a, b) => a.t_us - b.t_us);
}

export function Events({ data }: { data: Timeline }) {
    const events = useMemo(() => eventsOf(data), [data]);
    const [asked, setAsked] = useParam('event');
    const find = asked.toLowerCase();
    const shown = find ? events.filter((e) => e.what.toLowerCase().includes(find)) : events;
    return (
        <Card
            title={t('Events')}
            note={num(events.length)}
            tools={
                <input type="search" size={12} aria-label={t('Find in the events')} placeholder={t('Find…')} value={asked} onInput={(e) => setAsked(e.currentTarget.value)} />
            }
        >
            {shown.length ? (
                <ol class="events" tabIndex={0} aria-label={t('Events')}>
                    {shown.map((e) => (
                        <li>
                            <button type="button" class="bare t" style={{ padding: 0, minHeight: 0, justifyContent: 'flex-end' }} onClick={() => look(e.t_us - 10e6, e.t_us + 10e6)}>
                                {clock(e.t_us)}
                            </button>
                            <span class={e.tone} aria-hidden="true">
                                {e.sign}
                            </span>
                            <span class={`break ${e.tone}`}>{e.what}</span>
                        </li>
                    ))}
                </ol>
            ) : (
                <Empty title={t('Nothing happened')} />
            )}
        </Card>
    );
}

export function Troubles({ s }: { s: Session }) {
    return (
        <>
            {s.crashes.map((c) => (
                <Card title={t('Crash')} note={`${c.t_us === null ? '' : clock(c.t_us, true)}${c.signal ? ` · ${t('signal {n}', { n: c.signal })}` : ''}`}>
                    <div class="stack" style={{ gap: '.6rem' }}>
                        <p class="break">{c.reason}</p>
                        <Frames symbols={c.symbols} frames={c.stack} />
                    </div>
                </Card>
            ))}
            {s.feedback.length > 0 && (
                <Card title={t('Feedback of the player')}>
                    <div class="stack" style={{ gap: '.6rem' }}>
                        {s.feedback.map((f) => (
                            <div class="quote">
                                <p class="break">{f.text}</p>
                                <p class="small soft">
                                    {f.category} {f.t_us !== null && clock(f.t_us)}
                                </p>
                            </div>
                        ))}
                    </div>
                </Card>
            )}
        </>
    );
}
