// A stack as it reads with the symbols there are, innermost first.
import { t } from '../lib/i18n';
import type { RawFrame, SymbolFrame } from '../lib/types';

const raw = (f: RawFrame): SymbolFrame => ({ frame: 0, status: f.text ? 'managed' : 'missing', ...f });

export const frameName = (f: SymbolFrame) =>
    f.function && f.function !== 'Unknown' ? f.function : (f.text ?? `${f.module ?? '?'}${f.offset ? `+${f.offset}` : ''}`);

// Which symbols frames wait for, each once: of a module, or a mapping.
export const missingSymbols = (list: SymbolFrame[]) => [
    ...new Set(
        list
            .filter((f) => f.status === 'missing' && f.debug_id)
            .map((f) => (f.module ? `${f.module} ${f.debug_id}` : (f.debug_id ?? ''))),
    ),
];

export function Frames({ symbols, frames }: { symbols?: SymbolFrame[]; frames?: RawFrame[] }) {
    const list = symbols?.length ? symbols : (frames ?? []).map(raw);
    const missing = list.filter((f) => f.status === 'missing').length;
    if (!list.length) return <p class="soft">{t('No stack was taken.')}</p>;
    return (
        <div>
            <ol class="frames">
                {list.map((f, i) => (
                    <li class={f.status === 'system' || f.status === 'missing' ? 'dim' : ''}>
                        <span class="at">{i}</span>
                        <span class="fn">
                            {frameName(f)}
                            {f.inlined && <span class="soft"> ({t('inlined')})</span>}
                        </span>
                        <span class="where">
                            {f.file ? `${f.file.split('/').pop()}${f.line ? `:${f.line}` : ''}` : f.function ? f.module : f.status === 'system' ? t('system') : ''}
                        </span>
                    </li>
                ))}
            </ol>
            {missing > 0 && (
                <div class="small soft" style={{ marginTop: '.4rem' }}>
                    {t('{n} {n|frame waits|frames wait} for symbols: framewatch symbols upload.', { n: missing })}
                    {missingSymbols(list).map((s) => (
                        <div class="mono">{s}</div>
                    ))}
                </div>
            )}
        </div>
    );
}
