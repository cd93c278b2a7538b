// The flame graph with its tools, and the same as a table.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Flame, functions, type FlameNode } from '../charts/flame';
import { useGet } from '../lib/api';
import { num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { setQuery, url, useParam, useQuery } from '../lib/router';
import { useShownTheme } from '../lib/theme';
import { Card, Empty, Failed, Tip, Toggle, Waiting } from './pieces';
import { Csv, Table, type Column } from './table';

interface Node {
    name: string;
    count?: number;
    weight?: number;
    self_count?: number;
    self_weight?: number;
    a?: number;
    b?: number;
    self_a?: number;
    self_b?: number;
    children: Node[];
}
interface Answer {
    stacks?: number;
    complete?: boolean;
    events?: number;
    of_events?: number;
    a?: { events: number };
    b?: { events: number };
    tree: { nodes: number; shown: number; root: Node };
}

const PARTS = 1e6; // of the whole, for widths in a comparison

function nodes(of: Node, value: string): FlameNode {
    const children = of.children.map((c) => nodes(c, value));
    if (of.a !== undefined)
        return { name: of.name, total: ((of.a + of.b!) / 2) * PARTS, self: ((of.self_a! + of.self_b!) / 2) * PARTS, was: of.a, now: of.b, children };
    const ms = value === 'ms';
    return { name: of.name, total: (ms ? of.weight : of.count) ?? 0, self: (ms ? of.self_weight : of.self_count) ?? 0, children };
}

interface Props {
    family?: string;
    build?: string | null;
    against?: string;
}

export function FlameCard({ family, build, against }: Props) {
    const q = useQuery();
    const theme = useShownTheme();
    const [value, setValue] = useParam('value', 'events');
    const [look, setLook] = useParam('look', 'graph');
    const fn = q.get('fn') ?? '';
    const side = q.get('side') ?? 'callees';
    const find = q.get('find') ?? '';
    const zoom = q.get('zoom') ?? '';
    const path = against ? '/v1/flame/diff' : family ? `/v1/families/${family}/flame` : '/v1/flame';
    const query = against ? { a: against, b: build, value } : { build, value, ...(fn ? { function: fn, side } : {}) };
    const data = useGet<Answer>(path, { ...query, nodes: 4000 });
    const root = useMemo(() => (data.value ? nodes(data.value.tree.root, value) : null), [data.value]);
    const rows = useMemo(() => (root ? functions(root).slice(0, 200) : []), [root]);
    const host = useRef<HTMLDivElement>(null);
    const flame = useRef<Flame | null>(null);
    const [chosen, setChosen] = useState<string[]>([]);
    const [share, setShare] = useState<number | null>(null);
    const unit = value === 'ms' ? 'ms' : t('events');

    useEffect(() => {
        if (!root || !root.total || look !== 'graph' || !host.current) return;
        setChosen([]);
        const own = new Flame(host.current, (path, keys) => {
            setChosen(path);
            setQuery({ zoom: keys });
        });
        flame.current = own;
        own.set(root, find, unit, zoom);
        setShare(find ? own.search(find) : null);
        return () => {
            own.destroy();
            flame.current = null;
        };
    }, [root, look, theme]);
    useEffect(() => flame.current?.show(zoom), [zoom]);
    useEffect(() => {
        setShare(find && flame.current ? flame.current.search(find) : (flame.current?.search(''), null));
    }, [find]);
    useEffect(() => {
        const press = (e: KeyboardEvent) => {
            const f = flame.current;
            if (!f || !host.current?.matches(':hover') || e.ctrlKey || e.metaKey || e.altKey) return;
            if ((e.target as HTMLElement).closest('input,textarea,select,dialog')) return;
            const way = ({ w: 'in', s: 'out', a: 'left', d: 'right' } as const)[e.key as 'w'];
            if (way) f.step(way);
            else if (e.key === '0') f.all();
            else return;
            e.preventDefault();
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, []);

    const last = chosen[chosen.length - 1];
    const columns: Column<(typeof rows)[number]>[] = [
        {
            key: 'name',
            label: t('Function'),
            cell: (r) => (
                <button type="button" class="bare mono break" style={{ whiteSpace: 'normal', textAlign: 'left', padding: 0, minHeight: 0 }} onClick={() => setQuery({ fn: r.name, look: null })} disabled={!!against}>
                    {r.name}
                </button>
            ),
            value: (r) => r.name,
        },
        { key: 'total', label: t('With callees'), right: true, cell: (r) => percent(r.total / Math.max(1, root?.total ?? 1)), value: (r) => r.total },
        { key: 'self', label: t('Itself'), right: true, cell: (r) => percent(r.self / Math.max(1, root?.total ?? 1)), value: (r) => r.self },
    ];
    const v = data.value;
    const exported = (format: string) => url(path, { build, value, format });
    return (
        <Card
            flush
            title={against ? t('What changed in the stacks') : t('Flame graph')}
            note={
                v && (
                    <>
                        {against
                            ? t('shares of {b} events against {a}: orange more, blue less', { a: num(v.a?.events), b: num(v.b?.events) })
                            : `${t('{n} {n|event|events}', { n: num(v.events) })}${v.of_events !== v.events ? ` ${t('of {n}', { n: num(v.of_events) })}` : ''} · ${t('widest first, not in order of time')}`}{' '}
                        <Tip term="share" />
                    </>
                )
            }
            tools={
                <span class="row no-print">
                    <input
                        type="search"
                        size={12}
                        aria-label={t('Find a function')}
                        placeholder={t('Find a function…')}
                        value={find}
                        onInput={(e) => setQuery({ find: e.currentTarget.value })}
                    />
                    {share !== null && <span class="small soft">{percent(share)}</span>}
                    <Toggle label={t('Weight')} value={value} options={[['events', t('events')], ['ms', 'ms']]} onChange={setValue} />
                    <Toggle label={t('Form')} value={look} options={[['graph', t('graph')], ['list', t('list')]]} onChange={setLook} />
                    {!against && (
                        <>
                            <a
                                class="button"
                                href={`/speedscope/#profileURL=${encodeURIComponent(exported('speedscope'))}&title=Framewatch`}
                                target="_blank"
                                rel="noreferrer"
                            >
                                speedscope
                            </a>
                            <a class="button" href={exported('pprof')} download="janks.pb.gz">
                                pprof
                            </a>
                            <a class="button" href={exported('folded')} download="janks.folded">
                                {t('folded')}
                            </a>
                        </>
                    )}
                </span>
            }
        >
            {fn && !against && (
                <div class="row" style={{ padding: '.2rem 1rem .5rem' }}>
                    <span>
                        {side === 'callees' ? t('What is called from') : t('Who calls')} <code>{fn}</code>
                    </span>
                    <Toggle label={t('Side')} value={side} options={[['callees', t('callees')], ['callers', t('callers')]]} onChange={(s) => setQuery({ side: s === 'callees' ? null : s })} />
                    <button type="button" onClick={() => setQuery({ fn: null, side: null })}>
                        {t('All stacks')}
                    </button>
                </div>
            )}
            {data.problem ? (
                <Failed problem={data.problem} again={data.again} />
            ) : !root ? (
                <Waiting rows={6} />
            ) : !root.total ? (
                <Empty title={t('No stack of this choice')} />
            ) : look === 'list' ? (
                <>
                    <Table id="fl" caption={t('Functions')} columns={columns} rows={rows} />
                    <div style={{ padding: '.5rem 1rem' }}>
                        <Csv name="functions" columns={columns} rows={rows} />
                    </div>
                </>
            ) : (
                <>
                    <div class="flame" ref={host} role="img" aria-label={t('Flame graph of {n} functions; the list tells the same.', { n: num(rows.length) })} />
                    {last && !against && (
                        <div class="row" style={{ padding: '0 1rem .9rem' }}>
                            <code class="break">{last}</code>
                            <button type="button" onClick={() => setQuery({ fn: last, side: 'callers' })}>
                                {t('Who calls it')}
                            </button>
                            <button type="button" onClick={() => setQuery({ fn: last, side: null })}>
                                {t('What it calls, from anywhere')}
                            </button>
                            <button type="button" onClick={() => flame.current?.all()}>
                                {t('All')}
                            </button>
                        </div>
                    )}
                </>
            )}
        </Card>
    );
}
