import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { api, base, open, settled } from './browser.mjs';

// The session that became hottest, and when, told by the API.
async function hottest() {
    const { items } = await api('/v1/sessions?limit=200&has_jank=true');
    const s = items.reduce((a, b) => ((b.peak_battery_millicelsius ?? 0) > (a.peak_battery_millicelsius ?? 0) ? b : a));
    const timeline = await api(`/v1/sessions/${s.id}/timeline`);
    const series = timeline.hardware.find((h) => h.name === 'battery_millicelsius');
    const most = Math.max(...series.value.filter((v) => v !== null));
    return { ...s, at_us: series.t_us[series.value.indexOf(most)] };
}
const clock = (us) => {
    const s = Math.round(us / 1e6);
    return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
};

export default {
    async 'a session is found by its id, and the page tells when it overheated'() {
        const s = await hottest();
        const { page, complaints, done } = await open({ role: 'read' });
        await settled(page);
        await page.keyboard.press('/');
        await page.keyboard.type(s.id);
        await page.keyboard.press('Enter');
        await page.waitForURL(`${base}/sessions/${s.id}`);
        const tile = page.locator('.stat', { hasText: 'Peak temperature' });
        await tile.getByText(`at ${clock(s.at_us)}`).click();
        await page.waitForURL(/t0=/);
        const q = new URL(page.url()).searchParams;
        assert.ok(Number(q.get('t0')) * 1e6 <= s.at_us && s.at_us <= Number(q.get('t1')) * 1e6);
        assert.equal(Math.round((await tile.locator('b').innerText()).match(/[\d.]+/)[0] * 1000), s.peak_battery_millicelsius);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'zoom by dragging, keys and buttons is in the address, and a link shows it again'() {
        const s = await hottest();
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/sessions/${s.id}`);
        const over = page.locator('.u-over').first();
        await over.waitFor();
        await over.scrollIntoViewIfNeeded();
        const box = await over.boundingBox();
        await page.mouse.move(box.x + box.width * 0.25, box.y + 60);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
        await page.mouse.up();
        await page.waitForURL(/t0=/);
        const width = () => {
            const q = new URL(page.url()).searchParams;
            return Number(q.get('t1')) - Number(q.get('t0'));
        };
        const dragged = width();
        assert.ok(Math.abs(dragged / (s.duration_us / 1e6) - 0.25) < 0.03, `a quarter of the session, not ${dragged} s`);
        await page.keyboard.press('w');
        await page.waitForFunction((was) => Number(new URLSearchParams(location.search).get('t1')) - Number(new URLSearchParams(location.search).get('t0')) < was * 0.7, dragged);
        const link = page.url();
        await page.goto(`${base}/sessions`);
        await page.goto(link);
        await page.locator('.u-over').first().waitFor();
        assert.equal(page.url(), link);
        await page.keyboard.press('0');
        await page.waitForURL((url) => !url.searchParams.has('t0'));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a jank opens with its cause, its evidence and its stack'() {
        const { items } = await api('/v1/sessions?limit=50&has_jank=true');
        let jank, session;
        for (const s of items) {
            const answer = await api(`/v1/sessions/${s.id}/janks`);
            jank = answer.janks.find((j) => j.samples.length && j.evidence && j.level > 0);
            session = s;
            if (jank) break;
        }
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/sessions/${session.id}?jank=${jank.index}`);
        const detail = page.locator('#janks .detail');
        await detail.waitFor();
        assert.ok((await detail.innerText()).includes(jank.evidence));
        assert.ok((await detail.locator('.frames li').count()) > 1);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a crash and what the player said stand on the page'() {
        for (const [filter, title] of [
            ['has_crash', 'Crash'],
            ['has_feedback', 'Feedback of the player'],
        ]) {
            const { items } = await api(`/v1/sessions?limit=1&${filter}=true`);
            const { page, complaints, done } = await open({ role: 'read' });
            await page.goto(`${base}/sessions/${items[0].id}`);
            await page.getByRole('heading', { name: title, exact: true }).first().waitFor();
            if (filter === 'has_crash') {
                const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
                const { crashes } = await api(`/v1/sessions/${items[0].id}`);
                const named = crashes[0].symbols.filter((f) => f.status === 'symbolicated').map((f) => f.function);
                assert.ok(named.includes('Engine::Loop'), 'the demo has symbols for its crashes');
                const shown = await card.locator('ol.frames .fn').allInnerTexts();
                for (const name of named) assert.ok(shown.some((s) => s.includes(name)), `${name} in ${shown.join(' | ')}`);
                assert.equal(await card.getByText('wait for symbols').count(), 0);
            }
            assert.deepEqual(complaints, []);
            await done();
        }
    },

    async 'a session opens in Perfetto by its handshake'() {
        const { items } = await api('/v1/sessions?limit=1&has_jank=true');
        const { page, context, complaints, done } = await open({ role: 'read' });
        // stands in for Perfetto's page: answers PING, keeps what comes
        await context.route('https://ui.perfetto.dev/**', (route) =>
            route.fulfill({
                contentType: 'text/html',
                body: `<script>addEventListener('message', (e) => {
                    if (e.data === 'PING') e.source.postMessage('PONG', e.origin);
                    else if (e.data.perfetto) document.title = 'got ' + e.data.perfetto.buffer.byteLength + ' ' + e.data.perfetto.title;
                });</script>`,
            }),
        );
        await page.goto(`${base}/sessions/${items[0].id}`);
        const popup = context.waitForEvent('page');
        await page.getByRole('button', { name: 'Open in Perfetto' }).click();
        const other = await popup;
        await other.waitForFunction(() => document.title.startsWith('got '));
        const size = Number((await other.title()).split(' ')[1]);
        assert.ok(size > 1000, `${size} bytes`);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'the trace, the raw file and a table are saved'() {
        const { items } = await api('/v1/sessions?limit=1&has_jank=true');
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/sessions/${items[0].id}`);
        const save = async (button) => {
            const coming = page.waitForEvent('download');
            await button.click();
            return readFileSync(await (await coming).path());
        };
        const chrome = JSON.parse(await save(page.getByRole('button', { name: 'Chrome trace' })));
        assert.ok(chrome.traceEvents.length > 100);
        const raw = await save(page.getByRole('button', { name: 'Raw file' }));
        assert.equal(raw.readUInt32LE(0), 0xfd2fb528); // zstd's magic number
        await settled(page);
        const csv = (await save(page.locator('#janks').getByRole('button', { name: 'CSV' }))).toString('utf8');
        assert.match(csv, /^\ufeffTime,"Length, ms"/);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'sessions of a platform, a version and some days are chosen by controls'() {
        const version = (await api('/v1/sessions?platform=ios&limit=1')).items[0].version_name;
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/sessions`);
        await settled(page);
        const filters = page.getByRole('form', { name: 'Filters' });
        await filters.getByLabel('Platform').selectOption('ios');
        await page.waitForURL(/platform=ios/);
        await filters.getByLabel('Version name').fill(version);
        await page.waitForURL(/version=/);
        const today = new Date().toISOString().slice(0, 10);
        await filters.getByLabel('Arrived from').fill(today);
        await filters.getByLabel('Arrived until').fill(today);
        await page.waitForURL(/from=.*to=/);
        // the browser's zone is UTC; the last day is in it
        const asked = new URL(page.url()).searchParams;
        const next = new Date(Date.parse(today) + 86400000).toISOString().slice(0, 10);
        assert.deepEqual([asked.get('from'), asked.get('to')], [`${today}T00:00:00Z`, `${next}T00:00:00Z`]);
        await settled(page);
        assert.equal(await filters.getByLabel('Arrived until').inputValue(), today);
        const { items } = await api(`/v1/sessions?${asked}&limit=50`);
        assert.equal(await page.getByRole('region', { name: 'Sessions' }).locator('tbody tr').count(), items.length);
        assert.ok(items.every((s) => s.platform === 'ios' && s.version_name === version));
        await filters.getByRole('button', { name: 'Clear' }).click();
        await page.waitForURL(`${base}/sessions`);
        assert.equal(await filters.getByLabel('Arrived from').inputValue(), '');
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'filters are in the address and ask the API'() {
        const { page, complaints, done } = await open({ role: 'read' });
        await settled(page);
        await page.getByRole('button', { name: 'with a crash' }).click();
        await page.waitForURL(/has_crash=1/);
        const { items } = await api('/v1/sessions?limit=50&has_crash=true');
        await page.waitForFunction((n) => document.querySelectorAll('tbody tr').length === n, items.length);
        await page.getByLabel('Model').fill(items[0].model);
        await page.waitForURL(/model=/);
        await page.waitForFunction((model) => [...document.querySelectorAll('tbody tr')].every((r) => r.textContent.includes(model)), items[0].model);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'an id that nothing has gets an answer, not an error'() {
        const { page, done } = await open({ role: 'read' });
        await page.goto(`${base}/sessions/${'0'.repeat(32)}`);
        await page.getByText('No session has this id').waitFor();
        await done();
    },
};
