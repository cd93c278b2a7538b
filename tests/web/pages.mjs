// Every page of the address bar, with what must be there before it is looked at.
import { api } from './browser.mjs';

export async function pages() {
    const session = (await api('/v1/sessions?limit=1&has_crash=true')).items[0].id;
    const build = (await api('/v1/builds?limit=1')).items[0].id;
    const family = (await api('/v1/families?limit=1')).items[0].id;
    return {
        login: { path: '/login', role: null },
        sessions: { path: '/sessions' },
        session: { path: `/sessions/${session}`, wait: '.u-over' },
        janks: { path: '/janks' },
        family: { path: `/janks/${family}` },
        rules: { path: '/rules' },
        compare: { path: '/compare' },
        builds: { path: '/builds' },
        build: { path: `/builds/${build}` },
        health: { path: '/health' },
        settings: { path: '/settings' },
    };
}
