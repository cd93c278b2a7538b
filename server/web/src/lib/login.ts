// Who is logged in. The key itself stays in a cookie that scripts cannot read; what is kept here
// only tells the page what to show.
import { go, url } from './router';
import { memory, store, useStore } from './store';

export interface Login {
    app: string;
    role: 'read' | 'admin';
    key: string;
    csrf: string;
    ends_at: string;
}

function kept(): Login | null {
    try {
        const login = JSON.parse(memory.get('login') ?? 'null') as Login | null;
        return login && Date.parse(login.ends_at) > Date.now() ? login : null;
    } catch {
        return null;
    }
}

const current = store<Login | null>(kept());
addEventListener('storage', () => current.set(kept())); // another tab logged in or out

export const login = () => current.get();
export const useLogin = () => useStore(current);
export const isAdmin = () => current.get()?.role === 'admin';

function set(next: Login | null) {
    memory.set('login', next ? JSON.stringify(next) : null);
    current.set(next);
}

// Past its end, or the key was revoked: the place is kept for afterwards.
export function toLogin() {
    set(null);
    if (location.pathname !== '/login')
        go(url('/login', { next: location.pathname + location.search }), true);
}

export async function logIn(key: string) {
    const answer = await fetch('/v1/login', { method: 'POST', headers: { Authorization: `Bearer ${key}` } });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(body.detail ?? answer.statusText);
    set(body as Login);
}

export async function logOut() {
    const csrf = current.get()?.csrf ?? '';
    await fetch('/v1/login', { method: 'DELETE', headers: { 'X-Framewatch-Csrf': csrf } }).catch(() => null);
    set(null);
    go('/login');
}
