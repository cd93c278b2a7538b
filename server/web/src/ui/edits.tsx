// Merges and splits of families: by hand, by themselves, and taking them back.
import { useState } from 'preact/hooks';
import { send, useGet, useList, type Page } from '../lib/api';
import { familyTitle, kinText, type Family, type FamilyDetail, type Kin } from '../lib/families';
import { ago, when } from '../lib/format';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { go, Link } from '../lib/router';
import { Badge, Card, Empty, Failed, Waiting } from './pieces';
import { ShowMore } from './table';

export interface FamilyEdit {
    id: number;
    kind: 'merge' | 'split';
    family: string;
    target: string | null;
    depth: number | null;
    by_kin: Kin | null;
    lost: string | null;
    actor: string;
    note: string;
    created_at: string;
    undone_at: string | null;
    undone_by: string | null;
}

const name = (id: string) => (
    <Link class="mono" href={`/janks/${id}`}>
        {id.slice(0, 10)}
    </Link>
);

// Whoever looks for kin signs as 'auto'.
const who = (actor: string | null) => (actor === 'auto' ? t('the job that looks for kin') : (actor ?? ''));

// Of one family, or of all.
export function Edits({ family, done }: { family?: string; done?: () => void }) {
    const list = useList<FamilyEdit>('/v1/family-edits', { limit: 100, family });
    const [problem, setProblem] = useState('');
    const undo = async (id: number) => {
        setProblem('');
        try {
            await send('POST', `/v1/family-edits/${id}/undo`);
            list.again();
            done?.();
        } catch (e) {
            setProblem((e as Error).message);
        }
    };
    if (list.problem) return <Failed problem={list.problem} again={list.again} />;
    if (!list.items) return <Waiting rows={2} />;
    return (
        <>
            {problem && (
                <p class="error-text" role="alert">
                    {problem}
                </p>
            )}
            {list.items.length ? (
                <ol class="events" style={{ maxHeight: 'none' }} aria-label={t('Merges and splits')}>
                    {list.items.map((e) => (
                        <li style={{ gridTemplateColumns: 'auto 1fr auto' }}>
                            <Badge tone={e.undone_at ? '' : 'accent'}>{e.kind === 'merge' ? t('merge') : t('split')}</Badge>
                            <span class={`break ${e.undone_at ? 'soft' : ''}`}>
                                {name(e.family)} {e.kind === 'merge' ? <>→ {name(e.target!)}</> : t('at depth {n}', { n: e.depth! })} {e.by_kin ? t('Merged by itself because {why}.', { why: kinText(e.by_kin, e.lost) }) : e.note}{' '}
                                <span class="soft small" title={when(e.created_at)} data-volatile>
                                    {who(e.actor)} · {ago(e.created_at)}
                                    {e.undone_at && ` · ${t('undone by {who}', { who: who(e.undone_by) })}`}
                                </span>
                            </span>
                            {isAdmin() && !e.undone_at && (
                                <button type="button" title={e.by_kin ? t('The two are never merged by themselves again') : undefined} onClick={() => void undo(e.id)}>
                                    {t('Undo')}
                                </button>
                            )}
                        </li>
                    ))}
                </ol>
            ) : (
                family ? <p class="soft small">{t('Nothing was merged or split')}</p> : <Empty title={t('Nothing was merged or split')} />
            )}
            <ShowMore list={list} />
        </>
    );
}

function Forms({ f, done }: { f: FamilyDetail; done: () => void }) {
    const others = useGet<Page<Family>>('/v1/families', { limit: 100 });
    const list = others.value?.items.filter((o) => o.id !== f.id && o.kind === f.kind) ?? [];
    const depths = [2, 3, 4, 5].filter((d) => d > f.why.depth);
    const [into, setInto] = useState('');
    const [depth, setDepth] = useState(String(depths[0] ?? ''));
    const [note, setNote] = useState('');
    const [says, setSays] = useState('');
    const run = async (what: string, body: Record<string, unknown>) => {
        setSays('');
        try {
            await send('POST', `/v1/families/${f.id}/${what}`, { ...body, ...(note ? { note } : {}) });
            if (what === 'merge') go(`/janks/${into}`);
            else done();
        } catch (e) {
            setSays((e as Error).message);
        }
    };
    return (
        <div class="stack" style={{ gap: '.7rem' }}>
            <div class="filters">
                <label class="field" style={{ flex: '1 1 14rem' }}>
                    {t('Into the family')}
                    <select value={into} onChange={(e) => setInto(e.currentTarget.value)}>
                        <option value="">{t('choose one')}</option>
                        {list.map((o) => (
                            <option value={o.id}>{`${familyTitle(o.title)} (${o.id.slice(0, 6)})`}</option>
                        ))}
                    </select>
                </label>
                <button type="button" disabled={!into} onClick={() => void run('merge', { into })}>
                    {t('Merge')}
                </button>
            </div>
            {depths.length > 0 && (
                <div class="filters">
                    <label class="field">
                        {t('Own frames that tell its stacks apart')}
                        <select value={depth} onChange={(e) => setDepth(e.currentTarget.value)}>
                            {depths.map((d) => (
                                <option value={String(d)}>{d}</option>
                            ))}
                        </select>
                    </label>
                    <button type="button" onClick={() => void run('split', { depth: Number(depth) })}>
                        {t('Split')}
                    </button>
                </div>
            )}
            <label class="field">
                {t('What for')}
                <input maxLength={500} value={note} onInput={(e) => setNote(e.currentTarget.value)} />
            </label>
            {says && (
                <p class="error-text" role="alert">
                    {says}
                </p>
            )}
        </div>
    );
}

export function ByHand({ f, done }: { f: FamilyDetail; done: () => void }) {
    const [turn, setTurn] = useState(0);
    const changed = () => {
        setTurn(turn + 1);
        done();
    };
    return (
        <Card id="by-hand" title={t('Merges and splits')} note={t('no count moves, and it can be undone')}>
            <div class="stack" style={{ gap: '.7rem' }}>
                {isAdmin() && <Forms f={f} done={changed} />}
                <Edits family={f.id} key={turn} done={done} />
            </div>
        </Card>
    );
}
