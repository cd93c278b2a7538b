// What stands around every page: navigation, search, keys, language, theme, login.
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { setLang, t, useLang } from '../lib/i18n';
import { logOut, useLogin } from '../lib/login';
import { go, Link, url, usePath } from '../lib/router';
import { setTheme, useTheme } from '../lib/theme';
import { LoginPage } from './login';
import { Dialog, Empty, Waiting } from './pieces';

type Page = ComponentType<{ id: string }>;
interface Place {
    path: RegExp;
    load: () => Promise<{ default: Page }>;
    title: () => string;
}

const places: Place[] = [
    { path: /^\/(?:sessions)?$/, load: () => import('../pages/sessions'), title: () => t('Sessions') },
    { path: /^\/sessions\/([^/]+)$/, load: () => import('../pages/session'), title: () => t('Session') },
    { path: /^\/janks$/, load: () => import('../pages/janks'), title: () => t('Janks') },
    { path: /^\/janks\/([0-9a-f]{32})$/, load: () => import('../pages/family'), title: () => t('Family') },
    { path: /^\/janks\/flame$/, load: () => import('../pages/flame'), title: () => t('Flame graph of janks') },
    { path: /^\/rules$/, load: () => import('../pages/rules'), title: () => t('Rules of families') },
    { path: /^\/scenes$/, load: () => import('../pages/scenes'), title: () => t('Scenes') },
    { path: /^\/devices$/, load: () => import('../pages/devices'), title: () => t('Devices') },
    { path: /^\/alerts$/, load: () => import('../pages/alerts'), title: () => t('Alerts') },
    { path: /^\/alerts\/(\d+)$/, load: () => import('../pages/alert'), title: () => t('Alert') },
    { path: /^\/compare$/, load: () => import('../pages/compare'), title: () => t('Compare') },
    { path: /^\/builds$/, load: () => import('../pages/builds'), title: () => t('Builds') },
    { path: /^\/builds\/(\d+)$/, load: () => import('../pages/build'), title: () => t('Build') },
    { path: /^\/health$/, load: () => import('../pages/health'), title: () => t('Health') },
    { path: /^\/settings$/, load: () => import('../pages/settings'), title: () => t('Settings') },
];

const nav = () => [
    { href: '/sessions', name: t('Sessions') },
    { href: '/janks', name: t('Janks') },
    { href: '/compare', name: t('Compare') },
    { href: '/scenes', name: t('Scenes') },
    { href: '/devices', name: t('Devices') },
    { href: '/alerts', name: t('Alerts') },
    { href: '/builds', name: t('Builds') },
    { href: '/health', name: t('Health') },
];

// The page's code comes when it is first opened.
function Lazy({ place, id }: { place: Place; id: string }) {
    const [got, setGot] = useState<{ of: Place; page: Page | null; failed?: boolean } | null>(null);
    useEffect(() => {
        let here = true;
        place.load().then(
            (m) => here && setGot({ of: place, page: m.default }),
            () => here && setGot({ of: place, page: null, failed: true }),
        );
        return () => {
            here = false;
        };
    }, [place]);
    if (got?.of !== place) return <Waiting rows={6} />;
    if (!got.page)
        return (
            <Empty page title={t('This page could not be loaded')}>
                <p>{t('The server may have been updated meanwhile.')}</p>
                <button type="button" onClick={() => location.reload()}>
                    {t('Load it again')}
                </button>
            </Empty>
        );
    const Page = got.page;
    return <Page id={id} key={id} />;
}

function useKeys(focusSearch: () => void, help: () => void) {
    useEffect(() => {
        const press = (e: KeyboardEvent) => {
            const at = e.target as HTMLElement;
            if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input,textarea,select,dialog')) return;
            if (e.key === '/') focusSearch();
            else if (e.key === '?') help();
            else return;
            e.preventDefault();
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, []);
}

function Search({ field }: { field: { current: HTMLInputElement | null } }) {
    const [bad, setBad] = useState(false);
    const find = (e: Event) => {
        e.preventDefault();
        const id = field.current!.value.trim().replace(/-/g, '').toLowerCase();
        if (/^[0-9a-f]{32}$/.test(id)) {
            field.current!.value = '';
            field.current!.blur();
            setBad(false);
            go(`/sessions/${id}`);
        } else setBad(true);
    };
    return (
        <form class="find" role="search" onSubmit={find}>
            <input
                ref={field}
                type="search"
                aria-label={t('Session by its id')}
                aria-invalid={bad}
                placeholder={t('Session id…')}
                autocomplete="off"
                spellcheck={false}
                onInput={() => setBad(false)}
            />
            <kbd aria-hidden="true">/</kbd>
            {bad && (
                <span class="pop" role="alert" style={{ position: 'absolute', top: '110%', left: 0 }}>
                    {t('A session id has 32 hexadecimal digits.')}
                </span>
            )}
        </form>
    );
}

function Menu() {
    const [open, setOpen] = useState(false);
    const box = useRef<HTMLDivElement>(null);
    const who = useLogin();
    const theme = useTheme();
    const lang = useLang();
    useEffect(() => {
        if (!open) return;
        const away = (e: Event) => {
            if (e instanceof KeyboardEvent ? e.key === 'Escape' : !box.current!.contains(e.target as Node)) setOpen(false);
        };
        addEventListener('pointerdown', away);
        addEventListener('keydown', away);
        return () => {
            removeEventListener('pointerdown', away);
            removeEventListener('keydown', away);
        };
    }, [open]);
    const act = (what: () => void) => () => {
        what();
        setOpen(false);
    };
    return (
        <div class="menu" ref={box}>
            <button type="button" class="bare" aria-haspopup="true" aria-expanded={open} onClick={() => setOpen(!open)}>
                {who?.app} <span aria-hidden="true">▾</span>
                <span class="sr">{t('Menu')}</span>
            </button>
            {open && (
                <div>
                    <div class="said">
                        {t('Logged in with key {key}…', { key: who?.key ?? '' })}
                        <br />
                        {who?.role === 'admin' ? t('Role admin: may change things') : t('Role read: may look')}
                    </div>
                    <button type="button" onClick={act(() => void setLang(lang === 'zh' ? 'en' : 'zh'))}>
                        {lang === 'zh' ? 'English' : '中文'}
                    </button>
                    <button type="button" onClick={act(() => setTheme(theme === 'dark' ? 'light' : 'dark'))}>
                        {theme === 'dark' ? t('Light colours') : t('Dark colours')}
                    </button>
                    {theme !== 'auto' && (
                        <button type="button" onClick={act(() => setTheme('auto'))}>
                            {t('Colours of the system')}
                        </button>
                    )}
                    <Link href="/settings" onClickCapture={() => setOpen(false)}>
                        {t('Settings')}
                    </Link>
                    <a href="/v1/openapi.json" target="_blank" rel="noreferrer">
                        {t('API document')}
                    </a>
                    <button type="button" onClick={act(() => void logOut())}>
                        {t('Log out')}
                    </button>
                </div>
            )}
        </div>
    );
}

function Keys({ onClose }: { onClose: () => void }) {
    const list: [string[], string][] = [
        [['/'], t('find a session by its id')],
        [['?'], t('this list')],
        [['W', 'S'], t('timeline, flame graph: zoom in and out')],
        [['A', 'D'], t('timeline, flame graph: to the left and to the right')],
        [['0'], t('timeline, flame graph: all of it')],
        [['N', 'P'], t('timeline: next and previous jank')],
    ];
    return (
        <Dialog title={t('Keys')} onClose={onClose}>
            <div class="keys">
                {list.map(([keys, what]) => (
                    <>
                        <span>
                            {keys.map((k) => (
                                <>
                                    <kbd>{k}</kbd>{' '}
                                </>
                            ))}
                        </span>
                        <span>{what}</span>
                    </>
                ))}
            </div>
            <p class="soft" style={{ marginTop: '.8rem' }}>
                {t('Dragging over a chart zooms into it, with Shift it moves; a double click shows all.')}
            </p>
            <form method="dialog" style={{ marginTop: '1rem' }}>
                <button class="primary">{t('Close')}</button>
            </form>
        </Dialog>
    );
}

function Frame() {
    const path = usePath();
    const field = useRef<HTMLInputElement>(null);
    const [help, setHelp] = useState(false);
    useKeys(
        () => field.current?.focus(),
        () => setHelp(true),
    );
    const place = places.find((p) => p.path.test(path));
    const id = decodeURIComponent(place?.path.exec(path)?.[1] ?? '');
    const first = `/${path.split('/')[1] || 'sessions'}`;

    useEffect(() => {
        document.title = `${place?.title() ?? ''}${id ? ` ${id.slice(0, 8)}` : ''} · Framewatch`;
        // on a phone the names of the pages are a strip that scrolls
        const strip = document.querySelector('nav.nav');
        const here = strip?.querySelector<HTMLElement>('[aria-current]');
        if (strip && here) strip.scrollLeft = here.offsetLeft - (strip.clientWidth - here.offsetWidth) / 2;
    }, [path, place]);
    return (
        <>
            <a class="skip" href="#main">
                {t('To the content')}
            </a>
            <header class="top">
                <div class="top-in">
                    <Link class="brand" href="/sessions">
                        <img src={icon()} alt="" />
                        Framewatch
                    </Link>
                    <nav class="nav" aria-label={t('Pages')}>
                        {nav().map((n) => (
                            <Link href={n.href} aria-current={first === n.href ? 'page' : undefined}>
                                {n.name}
                            </Link>
                        ))}
                    </nav>
                    <span class="grow" />
                    <Search field={field} />
                    <div class="tools">
                        <button type="button" class="bare" aria-label={t('Keys')} title={t('Keys')} onClick={() => setHelp(true)}>
                            <kbd>?</kbd>
                        </button>
                        <Menu />
                    </div>
                </div>
            </header>
            <main id="main" tabIndex={-1} style={{ outline: 'none' }}>
                {place ? <Lazy place={place} id={id} /> : <Empty page title={t('There is no such page')} />}
            </main>
            {help && <Keys onClose={() => setHelp(false)} />}
        </>
    );
}

export const icon = () => document.querySelector<HTMLLinkElement>('link[rel=icon]')!.getAttribute('href')!;

export function Shell() {
    const path = usePath();
    const who = useLogin();
    useLang(); // another language is another page
    useEffect(() => {
        if (!who && path !== '/login') go(url('/login', { next: path === '/' ? null : path + location.search }), true);
    }, [who, path]);
    if (path === '/login' || !who) return <LoginPage />;
    return <Frame />;
}
