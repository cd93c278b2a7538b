// Texts are written in English where they are used; t() finds the Chinese one. check.mjs holds the
// two together.
import { memory, store, useStore } from './store';

export type Lang = 'en' | 'zh';
type Values = Record<string, string | number>;

let dictionary: Record<string, string> = {};
const current = store<Lang>('en');

export const lang = () => current.get();
export const useLang = () => useStore(current);

// {n} is a value; {n|model|models} the first word if the value n is 1, else the second.
export function t(text: string, values?: Values): string {
    const found = dictionary[text] ?? text;
    if (!values) return found;
    return found.replace(/\{(\w+)(?:\|([^|}]*)\|([^|}]*))?\}/g, (all, name, one, more) =>
        one === undefined ? String(values[name] ?? all) : String(values[name]) === '1' ? one : more,
    );
}

export async function setLang(next: Lang, remember = true) {
    dictionary = next === 'zh' ? (await import('../zh')).default : {};
    document.documentElement.lang = next === 'zh' ? 'zh-CN' : 'en';
    if (remember) memory.set('lang', next);
    current.set(next);
}

export async function startLang() {
    const asked = new URLSearchParams(location.search).get('lang') ?? memory.get('lang');
    const own = navigator.language.startsWith('zh') ? 'zh' : 'en';
    await setLang(asked === 'zh' || asked === 'en' ? asked : own, false);
}
