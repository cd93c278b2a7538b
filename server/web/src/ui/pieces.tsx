// The small parts that every page is made of.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Data, Problem } from '../lib/api';
import { t } from '../lib/i18n';
import { define, type Term } from '../lib/terms';

type Children = { children?: ComponentChildren };

export function Head({ title, says, children }: { title: ComponentChildren; says?: ComponentChildren } & Children) {
    return (
        <div class="head">
            <div>
                <h1>{title}</h1>
                {says && <p>{says}</p>}
            </div>
            {children && <div class="row">{children}</div>}
        </div>
    );
}

export function Card({
    title,
    note,
    tools,
    flush,
    id,
    children,
}: { title?: ComponentChildren; note?: ComponentChildren; tools?: ComponentChildren; flush?: boolean; id?: string } & Children) {
    return (
        <section class="card" id={id}>
            {(title || tools) && (
                <header>
                    <h2>{title}</h2>
                    {note && <span class="note">{note}</span>}
                    {tools && <div class="row">{tools}</div>}
                </header>
            )}
            <div class={flush ? 'flush' : 'in'}>{children}</div>
        </section>
    );
}

// A "?" that tells what a word means: on hover, on focus, on touch.
export function Tip({ term, text, name }: { term?: Term; text?: string; name?: string }) {
    const [place, setPlace] = useState<{ left: number; top: number } | null>(null);
    const button = useRef<HTMLButtonElement>(null);
    const pop = useRef<HTMLSpanElement>(null);
    const id = useId();
    const says = text ?? (term ? define(term).says : '');
    const show = () => {
        const b = button.current!.getBoundingClientRect();
        setPlace({ left: b.left, top: b.bottom + 6 });
    };
    const hide = () => setPlace(null);

    useLayoutEffect(() => {
        if (!place || !pop.current) return;
        const b = pop.current.getBoundingClientRect();
        const left = Math.max(8, Math.min(place.left, innerWidth - b.width - 8));
        const low = place.top + b.height > innerHeight - 8;
        const top = low ? button.current!.getBoundingClientRect().top - b.height - 6 : place.top;
        if (left !== place.left || top !== place.top) setPlace({ left, top });
    }, [place]);
    useEffect(() => {
        if (!place) return;
        const key = (e: KeyboardEvent) => e.key === 'Escape' && hide();
        addEventListener('keydown', key);
        addEventListener('scroll', hide, true);
        return () => {
            removeEventListener('keydown', key);
            removeEventListener('scroll', hide, true);
        };
    }, [place !== null]);

    if (!says) return null;
    return (
        <span class="tip" onMouseEnter={show} onMouseLeave={hide}>
            <button
                ref={button}
                type="button"
                aria-label={term || name ? t('What is {term}?', { term: name ?? define(term!).name }) : t('More about this')}
                aria-describedby={place ? id : undefined}
                aria-expanded={place !== null}
                onFocus={show}
                onBlur={hide}
                onClick={(e) => {
                    e.stopPropagation();
                    show();
                }}
            >
                ?
            </button>
            {place && (
                <span class="pop" role="tooltip" id={id} ref={pop} style={{ left: `${place.left}px`, top: `${place.top}px` }}>
                    {says}
                </span>
            )}
        </span>
    );
}

// A metric's name with its definition.
export function Name({ term, children }: { term: Term } & Children) {
    return (
        <>
            {children ?? define(term).name} <Tip term={term} />
        </>
    );
}

export type Tone = '' | 'good' | 'warn' | 'bad' | 'accent';

export function Badge({ tone = '', children }: { tone?: Tone } & Children) {
    return <span class={`badge ${tone}`}>{children}</span>;
}

export function Chip({ name, children }: { name: string } & Children) {
    return (
        <span class="chip">
            <span>{name}</span>
            <span>{children}</span>
        </span>
    );
}

export function Stat({
    term,
    name,
    value,
    unit,
    n,
    tone = '',
}: {
    term?: Term;
    name?: ComponentChildren;
    value: ComponentChildren;
    unit?: string;
    n?: ComponentChildren;
    tone?: '' | 'bad';
}) {
    return (
        <div class={`stat ${tone}`}>
            <b>
                {value}
                {unit && <small>{unit}</small>}
            </b>
            <div class="what">{term ? <Name term={term}>{name}</Name> : name}</div>
            {n && <div class="n">{n}</div>}
        </div>
    );
}

export function Meter({ share, label }: { share: number; label: string }) {
    return (
        <span class="meter" role="img" aria-label={label}>
            <i style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
        </span>
    );
}

export function Toggle<T extends string>({
    label,
    value,
    options,
    off = [],
    onChange,
}: {
    label: string;
    value: T;
    options: [T, string][];
    off?: T[]; // cannot be chosen now
    onChange: (v: T) => void;
}) {
    return (
        <div class="group" role="group" aria-label={label}>
            {options.map(([v, name]) => (
                <button type="button" aria-pressed={v === value} disabled={off.includes(v)} onClick={() => onChange(v)}>
                    {name}
                </button>
            ))}
        </div>
    );
}

export function Select({
    label,
    value,
    options,
    onChange,
}: {
    label: string;
    value: string;
    options: [string, string][];
    onChange: (v: string) => void;
}) {
    return (
        <label class="field">
            {label}
            <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
                {options.map(([v, name]) => (
                    <option value={v} selected={v === value}>
                        {name}
                    </option>
                ))}
            </select>
        </label>
    );
}

// States --------------------------------------------------------------------------------------

// `page`: it is all there is on the page, and its heading.
export function Empty({ title, page, children }: { title: string; page?: boolean } & Children) {
    return (
        <div class="state">
            {page ? <h1>{title}</h1> : <b>{title}</b>}
            {children}
        </div>
    );
}

export function Waiting({ rows = 4 }: { rows?: number }) {
    return (
        <div class="in" role="status" aria-label={t('Loading')}>
            {Array.from({ length: rows }, (_, i) => (
                <span class="skeleton" style={{ width: `${92 - ((i * 37) % 45)}%` }} />
            ))}
        </div>
    );
}

export function Failed({ problem, again, page }: { problem: Problem; again?: () => void; page?: boolean }) {
    const { status } = problem;
    const title =
        status === 403
            ? t('Your key may not see this')
            : status === 404
              ? t('There is nothing here')
              : status === 410
                ? t('This is past its retention')
                : status === 0
                  ? t('The server does not answer')
                  : t('This could not be loaded');
    return (
        <div class="state" role="alert">
            {page ? <h1>{title}</h1> : <b>{title}</b>}
            <p>{status === 403 ? t('It needs a key of role admin. Ask whoever runs the server, then log in with it.') : problem.message}</p>
            {problem.requestId && (
                <p class="small">
                    {t('Request')} <code>{problem.requestId}</code>
                </p>
            )}
            {again && status !== 403 && (
                <button type="button" onClick={again}>
                    {t('Try again')}
                </button>
            )}
        </div>
    );
}

// What came, or the state it is in.
export function Loaded<T>({
    data,
    rows,
    children,
}: {
    data: Data<T>;
    rows?: number;
    children: (value: T) => ComponentChildren;
}) {
    if (data.problem) return <Failed problem={data.problem} again={data.again} />;
    if (data.value === null) return <Waiting rows={rows} />;
    return <>{children(data.value)}</>;
}

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void } & Children) {
    const dialog = useRef<HTMLDialogElement>(null);
    const id = useId();
    useEffect(() => {
        dialog.current!.showModal();
    }, []);
    return (
        <dialog
            ref={dialog}
            aria-labelledby={id}
            onClose={onClose}
            onClick={(e) => e.target === dialog.current && dialog.current?.close()}
        >
            <h2 id={id}>{title}</h2>
            {children}
        </dialog>
    );
}
