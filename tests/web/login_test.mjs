import assert from 'node:assert/strict';
import { api, base, key, open, settled } from './browser.mjs';

export default {
    async 'a link opened while logged out comes back to its place after the login'() {
        const { items } = await api('/v1/sessions?limit=1');
        const place = `/sessions/${items[0].id}?lanes=cpu`;
        const { page, complaints, done } = await open({ role: null });
        await page.goto(base + place);
        await page.waitForURL('**/login?next=*');
        await page.fill('input[name=key]', key('read'));
        await page.click('button.primary');
        await page.waitForURL((url) => url.pathname + url.search === place);
        await settled(page);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a login does not lead to another site'() {
        const { page, done } = await open({ role: null });
        for (const next of ['//example.org/', 'https://example.org/', '/\\example.org']) {
            await page.goto(`${base}/login?next=${encodeURIComponent(next)}`);
            await page.fill('input[name=key]', key('read'));
            await page.click('button.primary');
            await page.waitForURL(`${base}/sessions`);
            await page.evaluate(() => localStorage.clear());
        }
        await done();
    },

    async 'a wrong key and an ingest key are refused with the reason'() {
        const { page, done } = await open({ role: null });
        for (const text of ['fw_read_thisisnokeyatall', key('ingest')]) {
            await page.goto(`${base}/login`);
            await page.fill('input[name=key]', text);
            await page.click('button.primary');
            await page.waitForSelector('#login-problem');
            assert.match(await page.textContent('#login-problem'), /not known|role/);
        }
        await done();
    },

    async 'the cookie is out of reach of scripts, and writing needs the token'() {
        const { page, context, done } = await open();
        const cookie = (await context.cookies(`${base}/v1/sessions`)).find((c) => c.name === 'fw_login');
        assert.ok(cookie.httpOnly);
        assert.equal(cookie.sameSite, 'Strict');
        assert.equal(await page.evaluate(() => document.cookie), '');
        const put = (headers) =>
            page.evaluate(
                (headers) => fetch('/v1/config', { method: 'PUT', headers: { 'Content-Type': 'application/json', ...headers }, body: '{}' }).then((a) => a.status),
                headers,
            );
        assert.equal(await put({}), 403);
        assert.equal(await put({ 'X-Framewatch-Csrf': '0'.repeat(64) }), 403);
        const csrf = await page.evaluate(() => JSON.parse(localStorage.getItem('fw.login')).csrf);
        assert.equal(await put({ 'X-Framewatch-Csrf': csrf }), 200);
        await done();
    },

    async 'logging out ends it, for a copy of the cookie too'() {
        const { page, context, done } = await open({ role: 'read' });
        await settled(page);
        const copy = (await context.cookies(`${base}/v1/sessions`)).find((c) => c.name === 'fw_login');
        const asks = async () => (await fetch(`${base}/v1/sessions?limit=1`, { headers: { Cookie: `fw_login=${copy.value}` } })).status;
        assert.equal(await asks(), 200);
        await page.click('.menu > button');
        await page.getByText('Log out').click();
        await page.waitForURL('**/login');
        assert.equal((await context.cookies(`${base}/v1/sessions`)).length, 0);
        assert.equal(await asks(), 401);
        await done();
    },

    async 'a key of role read sees what it may not and why'() {
        const { page, done } = await open({ role: 'read' });
        await page.goto(`${base}/settings`);
        await page.getByText('Your key may not see this').waitFor();
        await done();
    },
};
