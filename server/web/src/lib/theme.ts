import { memory, store, useStore } from './store';

export type Theme = 'auto' | 'light' | 'dark';
const dark = matchMedia('(prefers-color-scheme: dark)');
const chosen = store<Theme>((memory.get('theme') as Theme) ?? 'auto');

// What is on the screen now; canvases follow it.
export const shown = store<'light' | 'dark'>('light');

function apply() {
    const theme = chosen.get() === 'auto' ? (dark.matches ? 'dark' : 'light') : (chosen.get() as 'light' | 'dark');
    document.documentElement.dataset.theme = theme;
    if (shown.get() !== theme) shown.set(theme);
}
export function startTheme() {
    const asked = new URLSearchParams(location.search).get('theme');
    if (asked === 'light' || asked === 'dark') chosen.set(asked);
    apply();
    dark.addEventListener('change', apply);
}
export const useTheme = () => useStore(chosen);
export function setTheme(theme: Theme) {
    memory.set('theme', theme);
    chosen.set(theme);
    apply();
}

export const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
// The same, each asked once: asking while the page changes makes the browser style it first.
export function palette(): (name: string) => string {
    const known = new Map<string, string>();
    return (name) => {
        const kept = known.get(name);
        if (kept !== undefined) return kept;
        const value = colour(name);
        known.set(name, value);
        return value;
    };
}
export const useShownTheme = () => useStore(shown);
