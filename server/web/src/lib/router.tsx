// Where the reader is: the path chooses the page, the query holds everything they chose on it, so
// that any link shows the same.
import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { store, useStore } from './store';

const at = store({ path: location.pathname, query: location.search });

function refresh() {
    at.set({ path: location.pathname, query: location.search });
}
addEventListener('popstate', refresh);

export function go(url: string, replace = false) {
    if (url === location.pathname + location.search) return;
    history[replace ? 'replaceState' : 'pushState'](null, '', url);
    refresh();
    if (!replace) scrollTo(0, 0);
}

export const usePath = () => useStore(at, (a) => a.path);

export type Query = Record<string, string | number | boolean | null | undefined>;

// A path with those of the values that are there.
export function url(path: string, query: Query = {}): string {
    const q = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
        if (value !== null && value !== undefined && value !== '' && value !== false)
            q.set(name, value === true ? '1' : String(value));
    const text = q.toString();
    return text ? `${path}?${text}` : path;
}

// Changes some of the query's values; null and '' remove. Replaces the entry of the history unless
// asked otherwise: choosing a filter is not a new place.
export function setQuery(changes: Query, push = false) {
    const q = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === undefined || value === '' || value === false) q.delete(name);
        else q.set(name, value === true ? '1' : String(value));
    }
    const text = q.toString();
    go(location.pathname + (text ? `?${text}` : ''), !push);
}

export function useQuery(): URLSearchParams {
    const query = useStore(at, (a) => a.query);
    return useMemo(() => new URLSearchParams(query), [query]);
}

// One value of the query: what shows it is not drawn again when others change.
export const useValue = (name: string): string | null => useStore(at, (a) => new URLSearchParams(a.query).get(name));

export function useParam(name: string, otherwise = ''): [string, (value: string | null) => void] {
    const value = useValue(name);
    return [value ?? otherwise, (next) => setQuery({ [name]: next === otherwise ? null : next })];
}

type LinkProps = Omit<JSX.AnchorHTMLAttributes, 'href'> & { href: string; children?: ComponentChildren };

export function Link({ href, children, ...rest }: LinkProps) {
    const follow = (e: MouseEvent) => {
        if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
        e.preventDefault();
        go(href);
    };
    return (
        <a {...rest} href={href} onClick={follow}>
            {children}
        </a>
    );
}
