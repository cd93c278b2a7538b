import { useEffect, useState } from 'preact/hooks';
import { t, setLang, useLang } from '../lib/i18n';
import { logIn, useLogin } from '../lib/login';
import { go, useQuery } from '../lib/router';
import { icon } from './shell';

// Only places of this page: a link must not lead elsewhere through the login.
function placeAfter(q: URLSearchParams): string {
    const next = q.get('next') ?? '';
    return /^\/(?![/\\])/.test(next) && !next.startsWith('/login') ? next : '/sessions';
}

export function LoginPage() {
    const q = useQuery();
    const who = useLogin();
    const lang = useLang();
    const [key, setKey] = useState('');
    const [problem, setProblem] = useState('');
    const [busy, setBusy] = useState(false);

    useEffect(() => {
        document.title = `${t('Log in')} · Framewatch`;
        if (who) go(placeAfter(q), true);
    }, [who]);

    const enter = async (e: Event) => {
        e.preventDefault();
        setBusy(true);
        setProblem('');
        try {
            await logIn(key.trim());
        } catch (x) {
            setProblem((x as Error).message);
            setBusy(false);
        }
    };
    return (
        <main class="card login">
            <img src={icon()} alt="" />
            <h1>Framewatch</h1>
            <p class="soft">{t('Log in with an API key of role read or admin. Whoever runs the server issues them: framewatch key create.')}</p>
            <form onSubmit={enter} class="stack" style={{ gap: '.7rem' }}>
                <label class="field">
                    {t('API key')}
                    <input
                        type="password"
                        name="key"
                        autocomplete="current-password"
                        required
                        autoFocus
                        value={key}
                        onInput={(e) => setKey(e.currentTarget.value)}
                        aria-invalid={problem !== ''}
                        aria-describedby={problem ? 'login-problem' : undefined}
                    />
                </label>
                {problem && (
                    <p id="login-problem" class="error-text" role="alert">
                        {problem}
                    </p>
                )}
                <div class="row">
                    <button class="primary" disabled={busy || !key}>
                        {t('Log in')}
                    </button>
                    <span class="grow" />
                    <button type="button" class="bare" onClick={() => void setLang(lang === 'zh' ? 'en' : 'zh')}>
                        {lang === 'zh' ? 'English' : '中文'}
                    </button>
                </div>
            </form>
        </main>
    );
}
