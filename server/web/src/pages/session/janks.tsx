// A session's janks: a list, and of one its cause, evidence and stacks.
import { clock, num } from '../../lib/format';
import { evidenceSays } from '../../lib/evidence';
import { t } from '../../lib/i18n';
import { setQuery, useParam, useValue } from '../../lib/router';
import { causeName, levelClass, levelName } from '../../lib/terms';
import type { Jank, Janks } from '../../lib/types';
import { Card, Chip, Empty } from '../../ui/pieces';
import { Frames, frameName } from '../../ui/stack';
import { Csv, Table, type Column } from '../../ui/table';
import { look } from './look';

function JankDetail({ jank, of }: { jank: Jank; of: Janks }) {
    const hashes = [...new Set(jank.samples.map((s) => s.stack))];
    const [asked, setAsked] = useParam('stack');
    const hash = hashes.find((h) => asked && h.startsWith(asked)) ?? hashes[0];
    const last = (name: string) => {
        const s = jank.hardware.find((h) => h.name === name);
        const v = s?.value.filter((x): x is number => x !== null) ?? [];
        return v.length ? ([v[0], v[v.length - 1]] as const) : null;
    };
    const facts: [string, string][] = [];
    const put = (name: string, label: string, by: number, unit: string, digits = 0) => {
        const v = last(name);
        if (v) facts.push([label, v[0] === v[1] ? `${num(v[0] * by, digits)} ${unit}` : `${num(v[0] * by, digits)} → ${num(v[1] * by, digits)} ${unit}`]);
    };
    put('process_cpu_permille', t('CPU of the game'), 0.1, '%');
    put('battery_millicelsius', t('Battery'), 0.001, '°C', 1);
    put('pss_kb', 'PSS', 1 / 1024, 'MB');
    put('phys_footprint_kb', t('Footprint'), 1 / 1024, 'MB');
    put('thread_count', t('Threads'), 1, '');
    put('gpu_time_us', t('GPU time'), 0.001, 'ms', 1);
    return (
        <div class="detail">
            <p>
                <b>{causeName(jank.cause)}</b>: {evidenceSays(jank.evidence) ?? (jank.evidence ? <span lang="en">{jank.evidence}</span> : t('nothing in the hardware points to a cause'))}
            </p>
            <div class="chips">
                {facts.map(([name, value]) => (
                    <Chip name={name}>{value}</Chip>
                ))}
            </div>
            {hashes.length > 1 && (
                <div class="row" role="group" aria-label={t('Stacks')}>
                    {hashes.map((h, i) => (
                        <button type="button" aria-pressed={h === hash} onClick={() => setAsked(h.slice(0, 10))}>
                            {t('Stack {n}', { n: i + 1 })}
                            <span class="soft">×{jank.samples.filter((s) => s.stack === h).length}</span>
                        </button>
                    ))}
                </div>
            )}
            {hash ? (
                <Frames symbols={of.symbols.find((s) => s.hash === hash)?.frames} frames={of.stacks.find((s) => s.hash === hash)?.frames} />
            ) : (
                <p class="soft">{t('No stack was taken.')}</p>
            )}
            <div class="row">
                <button type="button" onClick={() => look(jank.start_us - 5e6, jank.start_us + jank.duration_us + 5e6)}>
                    {t('Show on the timeline')}
                </button>
            </div>
        </div>
    );
}

// The frame that tells most: the innermost that is not the system's.
function topFrame(jank: Jank, of: Janks): string {
    const hash = jank.samples[0]?.stack;
    const symbols = of.symbols.find((s) => s.hash === hash)?.frames ?? [];
    const own = symbols.find((f) => f.status !== 'system') ?? symbols[0];
    if (own) return frameName(own);
    const raw = of.stacks.find((s) => s.hash === hash)?.frames[0];
    return raw ? (raw.text ?? `${raw.module ?? '?'}+${raw.offset ?? ''}`) : '';
}

export function JankList({ data }: { data: Janks }) {
    const chosen = useValue('jank');
    const [cause, setCause] = useParam('cause');
    const causes = [...new Set(data.janks.map((j) => j.cause))];
    const rows = data.janks.filter((j) => j.level > 0 && (!cause || j.cause === cause));
    const columns: Column<Jank>[] = [
        { key: 'time', label: t('Time'), unit: 's', cell: (j) => <span class="num">{clock(j.start_us, true)}</span>, value: (j) => j.start_us / 1e6 },
        {
            key: 'length',
            label: t('Length, ms'),
            right: true,
            cell: (j) => (
                <span class="row nowrap" style={{ justifyContent: 'flex-end' }}>
                    <span class={`dot ${levelClass(j.level)}`} title={levelName(j.level)} /> {num(j.duration_us / 1000)}
                </span>
            ),
            value: (j) => j.duration_us / 1000,
        },
        { key: 'level', label: t('Level'), cell: (j) => levelName(j.level), value: (j) => j.level },
        { key: 'scene', full: true, label: t('Scene'), cell: (j) => j.scene, value: (j) => j.scene },
        { key: 'cause', label: t('Cause'), term: 'cause', cell: (j) => causeName(j.cause), value: (j) => j.cause },
        {
            key: 'frame',
            full: true,
            label: t('Innermost own frame'),
            cell: (j) => (
                <button type="button" class="bare mono break" style={{ whiteSpace: 'normal', textAlign: 'left', padding: 0, minHeight: 0 }} aria-expanded={String(j.index) === chosen} onClick={() => toggle(j)}>
                    {topFrame(j, data) || t('no stack')}
                </button>
            ),
            value: (j) => topFrame(j, data),
        },
    ];
    const toggle = (j: Jank) => setQuery({ jank: String(j.index) === chosen ? null : j.index });
    return (
        <Card
            flush
            id="janks"
            title={t('Janks')}
            note={`${num(rows.length)}${data.dropped ? ` · ${t('{n} more were not kept', { n: data.dropped })}` : ''}`}
            tools={
                <>
                    {causes.length > 1 && (
                        <select aria-label={t('Cause')} value={cause} onChange={(e) => setCause(e.currentTarget.value)}>
                            <option value="">{t('all causes')}</option>
                            {causes.map((c) => (
                                <option value={c}>{causeName(c)}</option>
                            ))}
                        </select>
                    )}
                    <Csv name="janks" columns={columns} rows={rows} />
                </>
            }
        >
            {rows.length ? (
                <Table
                    id="j"
                    caption={t('Janks')}
                    columns={columns}
                    rows={rows}
                    onRow={toggle}
                    below={(j) => (String(j.index) === chosen ? <JankDetail jank={j} of={data} /> : null)}
                />
            ) : (
                <Empty title={t('No jank')}>
                    <p>{t('No frame took longer than 100 ms.')}</p>
                </Empty>
            )}
        </Card>
    );
}
