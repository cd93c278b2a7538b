// Every page of the address bar, with what must be there before it is looked at. `look: false` has no reference: it
// is another one on every machine.
import { api } from './browser.mjs';

export async function pages() {
    const session = (await api('/v1/sessions?limit=1&has_crash=true')).items[0].id;
    const game = (await api('/v1/sessions?platform=linux&limit=1')).items[0].id;
    const builds = (await api('/v1/builds?limit=50')).items;
    const build = builds.find((b) => b.platform === 'android').id; // the newest
    const family = (await api('/v1/families?limit=1')).items[0].id;
    const alert = (await api('/v1/alerts?limit=1')).items[0].id;
    return {
        login: { path: '/login', role: null },
        sessions: { path: '/sessions' },
        session: { path: `/sessions/${session}`, wait: '.u-over' },
        game: { path: `/sessions/${game}`, wait: '.u-over', look: false },
        janks: { path: '/janks' },
        family: { path: `/janks/${family}` },
        rules: { path: '/rules' },
        flame: { path: `/janks/flame?build=${build}`, wait: '.flame canvas' },
        compare: { path: `/compare?build=${build}`, wait: '.heat' },
        scenes: { path: `/scenes?build=${build}`, wait: '.heat' },
        devices: { path: '/devices' },
        alerts: { path: '/alerts' },
        alert: { path: `/alerts/${alert}` },
        builds: { path: '/builds' },
        build: { path: `/builds/${build}` },
        health: { path: '/health' },
        settings: { path: '/settings' },
    };
}
