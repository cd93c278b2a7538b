// The public API, and a hook for what a component shows of it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { login, toLogin } from './login';
import { url, type Query } from './router';

export class Problem extends Error {
    constructor(
        readonly status: number,
        readonly code: string,
        detail: string,
        readonly field = '',
        readonly requestId = '',
    ) {
        super(detail);
    }
}

export interface Page<T> {
    items: T[];
    next: string | null;
}

async function problemOf(answer: Response): Promise<Problem> {
    const body = await answer.json().catch(() => ({}));
    return new Problem(
        answer.status,
        body.code ?? 'unknown',
        body.detail ?? answer.statusText,
        body.field,
        body.request_id ?? answer.headers.get('X-Request-Id') ?? '',
    );
}

export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (init.method && init.method !== 'GET') headers.set('X-Framewatch-Csrf', login()?.csrf ?? '');
    let answer: Response;
    try {
        answer = await fetch(path, { ...init, headers });
    } catch (e) {
        if ((e as Error).name === 'AbortError') throw e;
        throw new Problem(0, 'offline', 'The server does not answer.');
    }
    if (answer.ok || answer.status === 304) return answer;
    if (answer.status === 401) toLogin();
    throw await problemOf(answer);
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    return (await ask(url(path, query), { signal })).json() as Promise<T>;
}

export async function send<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
): Promise<T> {
    const init: RequestInit = { method, headers };
    if (body !== undefined) {
        init.body = JSON.stringify(body);
        init.headers = { ...headers, 'Content-Type': 'application/json' };
    }
    const answer = await ask(path, init);
    return (answer.status === 204 ? null : await answer.json()) as T;
}

export interface Data<T> {
    value: T | null;
    problem: Problem | null;
    busy: boolean;
    again: () => void;
}

// What GET path?query answers; null path: nothing is asked. The last value stays while the next is
// on its way, so that pages do not jump.
export function useGet<T>(path: string | null, query: Query = {}): Data<T> {
    const whole = path === null ? null : url(path, query);
    const [state, setState] = useState<{ of: string | null; value: T | null; problem: Problem | null }>({
        of: null,
        value: null,
        problem: null,
    });
    const [turn, setTurn] = useState(0);
    const last = useRef(path);

    useEffect(() => {
        if (whole === null) return;
        const abort = new AbortController();
        const keep = last.current === path;
        last.current = path;
        get<T>(whole, {}, abort.signal).then(
            (value) => setState({ of: whole, value, problem: null }),
            (e: Error) => {
                if (e.name === 'AbortError') return;
                const problem = e instanceof Problem ? e : new Problem(0, 'page', String(e.message));
                setState((s) => ({ of: whole, value: keep ? s.value : null, problem }));
            },
        );
        return () => abort.abort();
    }, [whole, turn]);

    const fresh = last.current === path || state.of === whole;
    return {
        value: fresh ? state.value : null,
        problem: state.of === whole ? state.problem : null,
        busy: whole !== null && state.of !== whole,
        again: () => {
            setState((s) => ({ ...s, of: null }));
            setTurn((n) => n + 1);
        },
    };
}

// A list by pages: what was read so far, and a way to read on.
export function useList<T>(path: string, query: Query = {}, off = false) {
    const first = useGet<Page<T>>(off ? null : path, query);
    const [more, setMore] = useState<{ of: Page<T> | null; items: T[]; next: string | null; busy: boolean }>({
        of: null,
        items: [],
        next: null,
        busy: false,
    });
    const mine = more.of === first.value;
    const next = mine && first.value ? more.next : (first.value?.next ?? null);
    const items = first.value ? [...first.value.items, ...(mine ? more.items : [])] : null;

    const readOn = async () => {
        const of = first.value;
        if (!next || !of) return;
        setMore({ of, items: mine ? more.items : [], next, busy: true });
        try {
            const page = await get<Page<T>>(path, { ...query, cursor: next });
            setMore((m) =>
                m.of === of ? { of, items: [...m.items, ...page.items], next: page.next, busy: false } : m,
            );
        } catch {
            setMore((m) => ({ ...m, busy: false }));
        }
    };
    return { ...first, items, more: next !== null, readOn, reading: more.busy };
}
