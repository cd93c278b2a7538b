// A session taken elsewhere: Perfetto, a trace, its files, its id.
import { useState } from 'preact/hooks';
import { ask } from '../../lib/api';
import { t } from '../../lib/i18n';
import { openInPerfetto } from '../../lib/perfetto';
import { save } from '../../ui/table';

export function Exports({ id }: { id: string }) {
    const [says, setSays] = useState('');
    const chrome = async () => {
        const answer = await ask(`/v1/sessions/${id}/trace?format=chrome`);
        save(`${id}.json`, [await answer.blob()], 'application/json');
    };
    const raw = async () => {
        const list = (await (await ask(`/v1/sessions/${id}/raw`)).json()) as { items: { part: number; href: string }[] };
        const parts = await Promise.all(list.items.map(async (p) => (await ask(p.href)).arrayBuffer()));
        save(`${id}.fws`, parts, 'application/zstd'); // frames of zstd: one after the other is one file
    };
    const perfetto = () => {
        setSays(t('Opening Perfetto…'));
        return openInPerfetto(id, `Framewatch ${id.slice(0, 8)}`).then(() => setSays(''));
    };
    const run = (what: () => Promise<void>) => () =>
        void what().catch((e: Error) => setSays(e.message === 'popup' ? t('The browser did not let the tab open.') : e.message));
    return (
        <div class="row no-print">
            {says && (
                <span class="small soft" role="status">
                    {says}
                </span>
            )}
            <button type="button" onClick={run(perfetto)}>
                {t('Open in Perfetto')}
            </button>
            <button type="button" onClick={run(chrome)} title={t('Chrome’s trace event format')}>
                {t('Chrome trace')}
            </button>
            <button type="button" onClick={run(raw)} title={t('The files as they arrived; framewatch dump reads them')}>
                {t('Raw file')}
            </button>
        </div>
    );
}

const CopyIcon = () => (
    <svg width="15" height="15" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
        <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
        <path d="M10.5 3V2.5h-8v8H3" />
    </svg>
);

export function CopyId({ id }: { id: string }) {
    const [done, setDone] = useState(false);
    const copy = () =>
        navigator.clipboard?.writeText(id).then(
            () => {
                setDone(true);
                setTimeout(() => setDone(false), 1500);
            },
            () => setDone(false),
        );
    return (
        <button type="button" class="bare no-print" title={t('Copy the id')} aria-label={t('Copy the id')} onClick={copy}>
            {done ? '✓' : <CopyIcon />}
        </button>
    );
}
