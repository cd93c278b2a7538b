// Parts of a family's page that come with requests of their own: paths, verdicts.
import { Sankey } from '../charts/sankey';
import { useGet, type Page } from '../lib/api';
import type { FamilyBuild } from '../lib/families';
import { num, percent, span } from '../lib/format';
import { t } from '../lib/i18n';
import { useParam } from '../lib/router';
import { Badge, Card, Empty, Loaded, Tip, type Tone } from './pieces';
import { buildName } from './more';
import { Csv, Table, type Column } from './table';

interface Path {
    steps: string[];
    support: number;
    windows: number;
    clean_support: number;
    clean_windows: number;
    share: number | null;
    clean_share: number | null;
    lift: number | null;
}
interface PathsAnswer {
    scenes: string[];
    windows: number;
    clean_windows: number;
    paths: Path[];
    recent: { scene: string; steps: string[] }[];
}

const columns = (): Column<Path>[] => [
    {
        key: 'steps',
        label: t('Steps, the last one nearest the jank'),
        cell: (p) => (
            <span class="break">
                {p.steps.map((s, i) => (
                    <>
                        {i > 0 && <span class="soft"> → </span>}
                        {s}
                    </>
                ))}
            </span>
        ),
        value: (p) => p.steps.join(' > '),
    },
    { key: 'lift', label: t('Lift'), term: 'lift', right: true, cell: (p) => (p.lift === null ? '–' : `${num(p.lift, 1)} ×`), value: (p) => p.lift },
    { key: 'share', label: t('Before janks'), right: true, cell: (p) => `${percent(p.share)} (${num(p.support)})`, value: (p) => p.share },
    { key: 'clean', label: t('Without janks'), right: true, cell: (p) => `${percent(p.clean_share)} (${num(p.clean_support)})`, value: (p) => p.clean_share },
];

export function Paths({ family, events, build }: { family: string; events: number; build: string | null }) {
    const [scene, setScene] = useParam('pscene');
    const data = useGet<PathsAnswer>(`/v1/families/${family}/paths`, { build, scene });
    const table = columns();
    const v = data.value;
    return (
        <Card
            flush
            title={t('What players did before')}
            note={v && t('a sample: {n} windows before {events} events, {clean} without janks', { n: num(v.windows), events: num(events), clean: num(v.clean_windows) })}
            tools={
                v && (
                    <>
                        <select aria-label={t('Scene')} value={scene} onChange={(e) => setScene(e.currentTarget.value)}>
                            <option value="">{t('all scenes')}</option>
                            {[...new Set([...v.scenes, ...(scene ? [scene] : [])])].sort().map((s) => (
                                <option value={s}>{s}</option>
                            ))}
                        </select>
                        <Csv name="paths" columns={table} rows={v.paths} />
                    </>
                )
            }
        >
            <Loaded data={data}>
                {(p) =>
                    p.windows ? (
                        <>
                            {p.recent.length > 4 && (
                                <div style={{ padding: '.3rem 1rem .6rem' }}>
                                    <Sankey windows={p.recent.map((r) => r.steps).filter((s) => s.length > 0)} />
                                </div>
                            )}
                            {p.paths.length ? (
                                <Table id="p" caption={t('What players did before')} columns={table} rows={p.paths.slice(0, 20)} few={(r) => r.support < 8} />
                            ) : (
                                <Empty title={t('No path stands out')} />
                            )}
                        </>
                    ) : (
                        <Empty title={t('No steps before these janks')}>
                            <p>{t('The game tells them with fw_step().')}</p>
                        </Empty>
                    )
                }
            </Loaded>
        </Card>
    );
}

interface Look {
    look: number;
    label: string;
    ratio: number | null;
    low: number;
    high: number | null;
    phi: number;
    expected: number;
    events_old: number;
    events_new: number;
    foreground_old_ms: number;
    foreground_new_ms: number;
    judged_at: string;
}
interface Verdict {
    build: FamilyBuild;
    baseline: FamilyBuild;
    verdict: string;
    final: boolean;
    looks: Look[];
}

const verdicts: Record<string, [Tone, () => string]> = {
    regressed: ['bad', () => t('regressed')],
    fixed: ['good', () => t('fixed')],
    improved: ['good', () => t('improved')],
    not_fixed: ['warn', () => t('not fixed')],
    too_little_data: ['', () => t('too little data')],
};

export function Verdicts({ id }: { id: string }) {
    const data = useGet<Page<Verdict>>(`/v1/families/${id}/verdicts`);
    return (
        <Card title={t('Verdicts')} note={<Tip term="verdict" />}>
            <Loaded data={data} rows={2}>
                {(v) =>
                    v.items.length ? (
                        <div class="stack" style={{ gap: '.8rem' }}>
                            {v.items.map((item) => {
                                const [tone, name] = verdicts[item.verdict] ?? ['', () => item.verdict];
                                const look = item.looks[0]; // the last one taken
                                return (
                                    <div>
                                        <div class="row">
                                            <Badge tone={tone as Tone}>{name()}</Badge>
                                            <span>{`${buildName(item.build)} ${t('against')} ${buildName(item.baseline)}`}</span>
                                        </div>
                                        {look && (
                                            <p class="small soft">
                                                {look.ratio !== null && `${t('rate {ratio} × the old one', { ratio: num(look.ratio, 2) })} (${t('99.5 % interval {low} – {high}', { low: num(look.low, 2), high: look.high === null ? '∞' : num(look.high, 2) })}) · `}
                                                {t('{a} events in {ta} before, {b} in {tb} after', {
                                                    a: num(look.events_old),
                                                    ta: span(look.foreground_old_ms * 1000),
                                                    b: num(look.events_new),
                                                    tb: span(look.foreground_new_ms * 1000),
                                                })}
                                                {!item.final && ` · ${t('looked {n} {n|time|times}, looks on', { n: item.looks.length })}`}
                                            </p>
                                        )}
                                    </div>
                                );
                            })}
                        </div>
                    ) : (
                        <Empty title={t('No verdict yet')}>
                            <p>{t('The first look waits until enough events could have been expected.')}</p>
                        </Empty>
                    )
                }
            </Loaded>
        </Card>
    );
}
