// A table with sorting, CSV and, on a phone, one block a row.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { t } from '../lib/i18n';
import { go, setQuery, useValue } from '../lib/router';
import type { Term } from '../lib/terms';
import { Tip } from './pieces';

export interface Column<T> {
    key: string;
    label: string;
    term?: Term; // defined in a tooltip beside it
    cell: (row: T) => ComponentChildren;
    value?: (row: T) => string | number | null | undefined; // what sorts, and what the CSV has
    unit?: string; // of `value`, where the label does not tell it; for the CSV
    right?: boolean;
    full?: boolean; // a line of its own on a phone
    csvOnly?: boolean;
}

interface Props<T> {
    id: string; // of its place in the query
    columns: Column<T>[];
    rows: T[];
    caption: string;
    href?: (row: T) => string;
    few?: (row: T) => boolean; // too little data: greyed
    below?: (row: T) => ComponentChildren; // an opened row
    onRow?: (row: T) => void;
    sortable?: boolean;
    fold?: boolean;
}

function csvCell(v: string | number | null | undefined): string {
    const text = v === null || v === undefined ? '' : String(v);
    // A spreadsheet would run what looks like a formula.
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function toCsv<T>(columns: Column<T>[], rows: T[]): string {
    const shown = columns.filter((c) => c.value);
    const lines = [shown.map((c) => csvCell(c.unit ? `${c.label}, ${c.unit}` : c.label))];
    for (const row of rows) lines.push(shown.map((c) => csvCell(c.value!(row))));
    return lines.map((l) => l.join(',')).join('\r\n') + '\r\n';
}

export function save(name: string, parts: BlobPart[], type: string) {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob(parts, { type }));
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

export function Csv<T>({ name, columns, rows }: { name: string; columns: Column<T>[]; rows: T[] }) {
    return (
        <button
            type="button"
            class="bare no-print"
            title={t('Save this table as CSV')}
            onClick={() => save(`${name}.csv`, ['\ufeff', toCsv(columns, rows)], 'text/csv')}
        >
            CSV
        </button>
    );
}

export function Table<T>({ id, columns: all, rows, caption, href, few, below, onRow, sortable = true, fold = true }: Props<T>) {
    const columns = all.filter((c) => !c.csvOnly);
    const sort = useValue(`${id}.sort`) ?? '';
    const key = sort.replace(/^-/, '');
    const down = sort.startsWith('-');
    const by = columns.find((c) => c.key === key)?.value;
    const sorted = useMemo(() => {
        if (!by) return rows;
        const sign = down ? -1 : 1;
        return [...rows].sort((a, b) => {
            const x = by(a) ?? null;
            const y = by(b) ?? null;
            if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
            return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
        });
    }, [rows, key, down, by !== undefined]);

    const sortBy = (c: Column<T>) => {
        const first = c.right ? `-${c.key}` : c.key;
        const second = c.right ? c.key : `-${c.key}`;
        setQuery({ [`${id}.sort`]: sort === first ? second : sort === second ? null : first });
    };
    const open = (e: MouseEvent, row: T) => {
        if ((e.target as HTMLElement).closest('a,button,input,select')) return;
        if (getSelection()?.toString()) return;
        if (onRow) onRow(row);
        else if (href) {
            if (e.metaKey || e.ctrlKey) window.open(href(row));
            else go(href(row));
        }
    };
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
            <table class={fold ? 'fold' : ''}>
                <caption class="sr">{caption}</caption>
                <thead>
                    <tr>
                        {columns.map((c) => (
                            <th
                                scope="col"
                                class={c.right ? 'right' : ''}
                                aria-sort={key === c.key ? (down ? 'descending' : 'ascending') : undefined}
                            >
                                <span class="th">
                                    {sortable && c.value ? (
                                        <button type="button" onClick={() => sortBy(c)}>
                                            {c.label}
                                            <span aria-hidden="true">{key === c.key ? (down ? '↓' : '↑') : ''}</span>
                                        </button>
                                    ) : (
                                        c.label
                                    )}
                                    {c.term && <Tip term={c.term} />}
                                </span>
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {sorted.map((row) => {
                        const more = below?.(row);
                        return (
                            <>
                                <tr
                                    class={`${href || onRow ? 'link' : ''} ${few?.(row) ? 'few' : ''}`}
                                    aria-selected={more ? true : undefined}
                                    title={few?.(row) ? t('Too little data to say much') : undefined}
                                    onClick={(e) => open(e, row)}
                                >
                                    {columns.map((c) => (
                                        <td class={`${c.right ? 'right' : ''} ${c.full ? 'full' : ''}`} data-label={c.label}>
                                            {c.cell(row)}
                                        </td>
                                    ))}
                                </tr>
                                {more && (
                                    <tr>
                                        <td class="wide" colSpan={columns.length}>
                                            {more}
                                        </td>
                                    </tr>
                                )}
                            </>
                        );
                    })}
                </tbody>
            </table>
        </div>
    );
}

// Below a table whose list goes on.
export function ShowMore({ list }: { list: { more: boolean; reading: boolean; readOn: () => void } }) {
    if (!list.more) return null;
    return (
        <div class="state" style={{ padding: '1rem' }}>
            <button type="button" disabled={list.reading} onClick={list.readOn}>
                {t('Show more')}
            </button>
        </div>
    );
}
