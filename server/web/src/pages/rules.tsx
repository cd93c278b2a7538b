// Rules of families: what counts as the app's own code, what is ignored, who owns what. A change is
// previewed before it is saved, and moves no counter.
import { useState } from 'preact/hooks';
import { Problem, send, useGet, useList } from '../lib/api';
import { familyTitle } from '../lib/families';
import { ago, num, when } from '../lib/format';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { Link } from '../lib/router';
import { Badge, Card, Empty, Head, Loaded, Waiting } from '../ui/pieces';
import { Edits } from '../ui/edits';

type Field = 'module' | 'package' | 'keyword' | 'function';
interface Rule {
    field: Field;
    pattern: string;
    owner?: string;
}
interface Rules {
    include: Rule[];
    exclude: Rule[];
    ignore: Rule[];
    owners: Rule[];
    depth: number;
    unknown_percent: number;
    min_rate_ppm: number;
    kin: { enabled: boolean };
    tickets: { enabled: boolean; top: number };
    version: number;
}
interface Side {
    family: string;
    title: string;
    owner: string | null;
    events: number;
    stacks: number;
}
interface Preview {
    stacks: number;
    complete: boolean;
    before: { families: number; listed: number };
    after: { families: number; listed: number };
    events_moved: number;
    affected: { stacks: number; events: number; sessions: number; installs: number };
    split: { count: number; items: (Side & { into: Side[] })[] };
    merged: { count: number; items: (Side & { from: Side[] })[] };
    vanish: { count: number; items: Side[] };
    appear: { count: number; items: Side[] };
    owners: { count: number; items: (Side & { owner_before: string | null })[] };
}

const fields: Field[] = ['module', 'package', 'keyword', 'function'];

// One rule a line, "field pattern" or "field pattern = owner": quick to edit, quick to compare.
const toText = (rules: Rule[]) => rules.map((r) => `${r.field} ${r.pattern}${r.owner !== undefined ? ` = ${r.owner}` : ''}`).join('\n');

function toRules(text: string, owned: boolean): Rule[] {
    return text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
        .map((line) => {
            const m = /^(\w+)\s+(.+?)(?:\s+=\s+(.+))?$/.exec(line);
            if (!m || !fields.includes(m[1] as Field) || (owned && !m[3]))
                throw new Error(t('This line is not a rule: {line}', { line }));
            return owned ? { field: m[1] as Field, pattern: m[2], owner: m[3] } : { field: m[1] as Field, pattern: m[2] };
        });
}

function Sides({ title, count, items, extra }: { title: string; count: number; items: Side[]; extra?: (s: Side) => string }) {
    if (!count) return null;
    return (
        <div>
            <h3>
                {title} <Badge>{num(count)}</Badge>
            </h3>
            <ul style={{ margin: '.3rem 0 0', paddingLeft: '1.2rem' }}>
                {items.slice(0, 8).map((s) => (
                    <li class="break">
                        <span class="mono small">{familyTitle(s.title)}</span> <span class="soft small">{extra ? extra(s) : t('{n} {n|event|events}', { n: num(s.events) })}</span>
                    </li>
                ))}
                {count > 8 && <li class="soft small">{t('and {n} more', { n: num(count - Math.min(8, items.length)) })}</li>}
            </ul>
        </div>
    );
}

function PreviewCard({ p }: { p: Preview }) {
    const still = !p.split.count && !p.merged.count && !p.vanish.count && !p.appear.count && !p.owners.count;
    return (
        <Card title={t('What it would do')} note={p.complete ? t('{n} {n|stack|stacks} looked at', { n: num(p.stacks) }) : t('the {n} most frequent stacks looked at', { n: num(p.stacks) })}>
            <div class="stack" id="preview">
                <p>
                    {t('{before} {before|family becomes|families become} {after}; {a} of them listed before, {b} after. {events} {events|event changes|events change} family; no count moves.', {
                        before: num(p.before.families),
                        after: num(p.after.families),
                        a: num(p.before.listed),
                        b: num(p.after.listed),
                        events: num(p.events_moved),
                    })}
                </p>
                {p.affected.stacks > 0 && (
                    <p>
                        {t('It affects {stacks} {stacks|stack|stacks}: about {sessions} {sessions|session|sessions} of {installs} {installs|install|installs} show one of them, {events} {events|event|events} in all.', {
                            stacks: num(p.affected.stacks),
                            sessions: num(p.affected.sessions),
                            installs: num(p.affected.installs),
                            events: num(p.affected.events),
                        })}
                    </p>
                )}
                {still && <p class="soft">{t('Every family stays as it is.')}</p>}
                <Sides title={t('Split')} {...p.split} extra={(s) => t('into {n}', { n: num((s as Preview['split']['items'][0]).into.length) })} />
                <Sides title={t('Merged')} {...p.merged} extra={(s) => t('from {n}', { n: num((s as Preview['merged']['items'][0]).from.length) })} />
                <Sides title={t('No longer listed')} {...p.vanish} />
                <Sides title={t('Newly listed')} {...p.appear} />
                <Sides
                    title={t('Change hands')}
                    {...p.owners}
                    extra={(s) => `${(s as Preview['owners']['items'][0]).owner_before ?? t('nobody')} → ${s.owner ?? t('nobody')}`}
                />
            </div>
        </Card>
    );
}

function Form({ of, done }: { of: Rules; done: () => void }) {
    const [text, setText] = useState({ include: toText(of.include), exclude: toText(of.exclude), ignore: toText(of.ignore), owners: toText(of.owners) });
    const [depth, setDepth] = useState(of.depth);
    const [rate, setRate] = useState(of.min_rate_ppm / 10000);
    const [top, setTop] = useState(of.tickets.top);
    const [file, setFile] = useState(of.tickets.enabled);
    const [note, setNote] = useState('');
    const [preview, setPreview] = useState<Preview | null>(null);
    const [seen, setSeen] = useState('');
    const [says, setSays] = useState('');
    const [busy, setBusy] = useState(false);

    const body = () => ({
        include: toRules(text.include, false),
        exclude: toRules(text.exclude, false),
        ignore: toRules(text.ignore, false),
        owners: toRules(text.owners, true),
        depth,
        unknown_percent: of.unknown_percent,
        min_rate_ppm: Math.round(rate * 10000),
        kin: of.kin,
        tickets: { enabled: file, top },
    });
    const run = async (what: () => Promise<void>) => {
        setBusy(true);
        setSays('');
        try {
            await what();
        } catch (e) {
            const p = e as Problem;
            setSays(p.code === 'conflict' ? t('Somebody else changed the rules meanwhile: load the page again.') : `${p.field ? `${p.field}: ` : ''}${p.message}`);
        }
        setBusy(false);
    };
    const look = () =>
        run(async () => {
            const b = body();
            setPreview(await send<Preview>('POST', '/v1/family-rules/preview', b));
            setSeen(JSON.stringify(b));
        });
    const save = () =>
        run(async () => {
            await send('PUT', '/v1/family-rules', { ...body(), ...(note ? { note } : {}) });
            setPreview(null);
            done();
        });
    let same = false;
    try {
        same = seen !== '' && seen === JSON.stringify(body());
    } catch {
        same = false;
    }
    const area = (name: keyof typeof text, label: string, example: string, rows = 3) => (
        <label class="field">
            {label}
            <textarea rows={rows} placeholder={example} spellcheck={false} value={text[name]} onInput={(e) => setText({ ...text, [name]: e.currentTarget.value })} />
        </label>
    );
    return (
        <div class="stack">
            <Card title={t('Rules')} note={of.version ? t('version {n}', { n: of.version }) : t('the defaults')}>
                <form
                    class="stack"
                    onSubmit={(e) => {
                        e.preventDefault();
                        void look();
                    }}
                >
                    <p class="soft small">{t('One rule a line: module, package, keyword or function, then a pattern; a star stands for anything.')}</p>
                    <div class="grid2">
                        {area('include', t('Own code'), 'module libgame*\npackage com.studio')}
                        {area('exclude', t('Never own code'), 'package com.studio.thirdparty')}
                        {area('ignore', t('Ignored: counted, but neither listed nor filed'), 'function *LoadingScreen*')}
                        {area('owners', t('Owners: the first that matches an own frame'), 'keyword render = render team')}
                    </div>
                    <div class="filters">
                        <label class="field">
                            {t('Own frames in a fingerprint')}
                            <input type="number" min="1" max="5" required value={depth} style={{ width: '6rem' }} onInput={(e) => setDepth(Number(e.currentTarget.value))} />
                        </label>
                        <label class="field">
                            {t('Listed from, % of sessions')}
                            <input type="number" min="0" max="100" step="0.01" required value={rate} style={{ width: '7rem' }} onInput={(e) => setRate(Number(e.currentTarget.value))} />
                        </label>
                        <label class="check">
                            <input type="checkbox" checked={file} onChange={(e) => setFile(e.currentTarget.checked)} />
                            {t('file tickets for the first')}
                        </label>
                        <label class="field">
                            {t('families')}
                            <input type="number" min="1" max="500" value={top} style={{ width: '6rem' }} onInput={(e) => setTop(Number(e.currentTarget.value))} />
                        </label>
                    </div>
                    <div class="row">
                        <button class="primary" disabled={busy}>
                            {t('Preview')}
                        </button>
                        {isAdmin() ? (
                            <>
                                <input aria-label={t('What for')} placeholder={t('What for')} value={note} onInput={(e) => setNote(e.currentTarget.value)} />
                                <button type="button" disabled={busy || !same} title={same ? '' : t('Preview these rules first')} onClick={() => void save()}>
                                    {t('Save')}
                                </button>
                            </>
                        ) : (
                            <span class="soft small">{t('Saving needs a key of role admin.')}</span>
                        )}
                    </div>
                    {says && (
                        <p class="error-text" role="alert">
                            {says}
                        </p>
                    )}
                </form>
            </Card>
            {preview && <PreviewCard p={preview} />}
        </div>
    );
}

interface Version {
    version: number;
    actor: string;
    note: string;
    created_at: string;
}

function Versions({ now, done }: { now: number; done: () => void }) {
    const list = useList<Version>('/v1/family-rules/versions', { limit: 20 });
    const restore = async (version: number) => {
        await send('POST', `/v1/family-rules/versions/${version}/restore`).catch(() => null);
        list.again();
        done();
    };
    return (
        <Card title={t('Earlier versions')}>
            {!list.items ? (
                <Waiting rows={2} />
            ) : list.items.length ? (
                <ol class="events" style={{ maxHeight: 'none' }}>
                    {list.items.map((v) => (
                        <li style={{ gridTemplateColumns: 'auto 1fr auto' }}>
                            <b>{v.version}</b>
                            <span>
                                {v.note || <span class="soft">{t('no note')}</span>}{' '}
                                <span class="soft small" title={when(v.created_at)} data-volatile>
                                    {v.actor} · {ago(v.created_at)}
                                </span>
                            </span>
                            {isAdmin() && v.version !== now && (
                                <button type="button" onClick={() => void restore(v.version)}>
                                    {t('Put back')}
                                </button>
                            )}
                        </li>
                    ))}
                </ol>
            ) : (
                <Empty title={t('Nobody has changed them')}>
                    <p>{t('The defaults hold.')}</p>
                </Empty>
            )}
        </Card>
    );
}

export default function RulesPage() {
    const rules = useGet<Rules>('/v1/family-rules');
    return (
        <>
            <Head title={t('Rules of families')} says={t('What counts as own code, what is ignored and who owns what. Counts hang on raw stacks, so a change moves none of them and can be undone.')}>
                <Link class="button" href="/janks">
                    {t('Families')}
                </Link>
            </Head>
            <div class="stack">
                <Loaded data={rules}>
                    {(r) => (
                        <>
                            <Form of={r} key={r.version} done={rules.again} />
                            <div class="grid2">
                                <Versions now={r.version} key={`v${r.version}`} done={rules.again} />
                                <Card id="edits" title={t('Merges and splits')}>
                                    <Edits />
                                </Card>
                            </div>
                        </>
                    )}
                </Loaded>
            </div>
        </>
    );
}
