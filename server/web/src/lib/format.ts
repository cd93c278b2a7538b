// Numbers and times as people read them. Sources keep their exact values: a title or a CSV has them.
import { lang, t } from './i18n';

const locale = () => (lang() === 'zh' ? 'zh-CN' : 'en-GB');
const dash = '–';
type Maybe = number | null | undefined;
const absent = (v: Maybe): v is null | undefined => v === null || v === undefined || Number.isNaN(v);

// Making one costs more than a hundred uses of it.
const formats = new Map<string, Intl.NumberFormat>();
function format(digits: number): Intl.NumberFormat {
    const key = `${locale()} ${digits}`;
    let kept = formats.get(key);
    if (!kept) formats.set(key, (kept = new Intl.NumberFormat(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits })));
    return kept;
}

export function num(v: Maybe, digits = 0): string {
    return absent(v) ? dash : format(digits).format(v);
}

// Digits after the point that tell multiples of a step apart: 0.25 → 2, 5 → 0.
export function decimals(step: number): number {
    let digits = 0;
    while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
    return digits;
}

// 12,345 → 12.3k, for places with little room.
export function short(v: Maybe): string {
    if (absent(v)) return dash;
    if (Math.abs(v) < 10000) return num(v);
    return v.toLocaleString(locale(), { notation: 'compact', maximumFractionDigits: 1 });
}

export const ms = (us: Maybe, digits = 1) => (absent(us) ? dash : num(us / 1000, digits));
export const celsius = (milli: Maybe) => (absent(milli) || !milli ? dash : `${num(milli / 1000, 1)} °C`);
export const megabytes = (kb: Maybe) => (absent(kb) || !kb ? dash : `${num(kb / 1024)} MB`);

export function percent(share: Maybe, digits = 1): string {
    return absent(share) ? dash : `${num(100 * share, digits)} %`;
}

// A change, with its sign: +12.3 %.
export function change(share: Maybe, digits = 1): string {
    if (absent(share)) return dash;
    if (share > 10) return t('over +{n} %', { n: num(1000) });
    const text = num(Math.abs(100 * share), digits);
    return `${share < 0 ? '−' : '+'}${text} %`;
}

// Session-relative: 7:04, 1:02:03; with parts of a second 7:04.250.
export function clock(us: Maybe, thousandths = false): string {
    if (absent(us)) return dash;
    const whole = thousandths ? Math.floor(us / 1e6) : Math.round(us / 1e6);
    const h = Math.floor(whole / 3600);
    const m = Math.floor(whole / 60) % 60;
    const two = (n: number) => String(n).padStart(2, '0');
    const text = h ? `${h}:${two(m)}:${two(whole % 60)}` : `${m}:${two(whole % 60)}`;
    return thousandths ? `${text}.${String(Math.floor((us % 1e6) / 1000)).padStart(3, '0')}` : text;
}

// 4 min 10 s.
export function span(us: Maybe): string {
    if (absent(us)) return dash;
    const s = us / 1e6;
    if (s < 60) return `${num(s, s < 10 ? 1 : 0)} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
    return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
}

export function when(iso: string | null | undefined): string {
    if (!iso) return dash;
    return new Date(iso).toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'short' });
}
export function day(iso: string | null | undefined): string {
    return iso ? new Date(iso).toLocaleDateString(locale(), { dateStyle: 'medium' }) : dash;
}

export function ago(iso: string | null | undefined): string {
    if (!iso) return dash;
    const s = (Date.now() - Date.parse(iso)) / 1000;
    const f = new Intl.RelativeTimeFormat(locale(), { numeric: 'auto', style: 'short' });
    if (Math.abs(s) < 60) return t('just now');
    if (Math.abs(s) < 3600) return f.format(-Math.round(s / 60), 'minute');
    if (Math.abs(s) < 86400) return f.format(-Math.round(s / 3600), 'hour');
    return f.format(-Math.round(s / 86400), 'day');
}

export function bytes(n: Maybe): string {
    if (absent(n)) return dash;
    const units = ['B', 'KB', 'MB', 'GB'];
    let at = 0;
    for (; n >= 1000 && at < units.length - 1; at++) n /= 1000;
    return `${num(n, at && n < 100 ? 1 : 0)} ${units[at]}`;
}

// Janks in 10 minutes of foreground.
export const jankRate = (janks: number, foregroundUs: number) =>
    foregroundUs > 0 ? (janks / foregroundUs) * 600e6 : null;
