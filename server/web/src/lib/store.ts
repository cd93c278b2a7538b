import { useEffect, useState } from 'preact/hooks';

// A value that components follow.
export interface Store<T> {
    get(): T;
    set(value: T): void;
    subscribe(fn: () => void): () => void;
}

export function store<T>(value: T): Store<T> {
    const followers = new Set<() => void>();
    return {
        get: () => value,
        set(next) {
            value = next;
            for (const fn of [...followers]) fn();
        },
        subscribe(fn) {
            followers.add(fn);
            return () => void followers.delete(fn);
        },
    };
}

// What `pick` takes of it: a component is drawn again only when that changes.
export function useStore<T, U = T>(s: Store<T>, pick: (value: T) => U = (value) => value as unknown as U): U {
    const [, look] = useState(() => pick(s.get()));
    useEffect(() => {
        const changed = () => look(() => pick(s.get()));
        changed();
        return s.subscribe(changed);
    }, [s]);
    return pick(s.get());
}

// What the browser remembers; a private window or a full disk may refuse.
export const memory = {
    get(key: string): string | null {
        try {
            return localStorage.getItem(`fw.${key}`);
        } catch {
            return null;
        }
    },
    set(key: string, value: string | null) {
        try {
            if (value === null) localStorage.removeItem(`fw.${key}`);
            else localStorage.setItem(`fw.${key}`, value);
        } catch {
            /* then it is asked again next time */
        }
    },
};
