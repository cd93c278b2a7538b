// A page asks the same few questions of any number of sessions. Last, for it sends more of them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { api, base, key, open, settled, until } from './browser.mjs';
import { pages } from './pages.mjs';

const MOST = 12; // questions of one page, loaded cold

const moreSessions = async () => {
    const before = await api('/v1/families?limit=1');
    await promisify(execFile)(
        `${process.env.FW_BIN}/server/framewatch`,
        ['demo', '--app', 'test', '--sessions', '1000', '--seconds', '60', '--part-seconds', '3600', '--seed', '12', '--concurrency', '2'],
        { env: { ...process.env, FW_URL: base, FW_KEY: key('ingest') } },
    );
    const due = async () => {
        const lists = await Promise.all(['ready', 'running'].map((s) => api(`/v1/jobs?limit=200&state=${s}`)));
        return lists.flatMap((l) => l.items).filter((j) => ['part', 'families'].includes(j.kind)).length;
    };
    await until(due, (n) => n === 0);
    await until(
        () => api('/v1/families?limit=1'),
        (now) => !now.pending && now.sessions > 1.3 * before.sessions,
    );
};

// By page, what it asks the API, without numbers of things.
async function questions() {
    const all = await pages();
    const { page, complaints, done } = await open();
    const out = await open({ role: null });
    const asked = {};
    for (const [name, { path, wait, role }] of Object.entries(all)) {
        const at = role === null ? out.page : page;
        const list = [];
        const note = (request) => {
            const { pathname } = new URL(request.url());
            if (pathname.startsWith('/v1/')) list.push(`${request.method()} ${pathname.replace(/\/(\d+|[0-9a-f]{32})(?=\/|$)/g, '/N')}`);
        };
        at.on('request', note);
        await at.goto(base + path);
        await settled(at);
        if (wait) await at.waitForSelector(wait);
        await at.waitForLoadState('networkidle');
        at.off('request', note);
        asked[name] = list.sort();
    }
    assert.deepEqual([...complaints, ...out.complaints], []);
    await Promise.all([done(), out.done()]);
    return asked;
}

export default {
    async 'a page asks few questions, and no more of them with more sessions'() {
        const before = await questions();
        for (const [name, list] of Object.entries(before)) {
            assert.ok(list.length <= MOST, `${name} asks ${list.length} questions: ${list.join(', ')}`);
            if (name !== 'login') assert.ok(list.length > 0, `${name} asks nothing`);
        }
        await moreSessions();
        assert.deepEqual(await questions(), before);
        console.log(`      ${Object.entries(before).map(([name, list]) => `${name} ${list.length}`).join(', ')}`);
    },
};
