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

    async 'each value that the SDK read is drawn over its own times'() {
        const { items } = await api('/v1/sessions?platform=linux&limit=1'); // of the demo game
        const timeline = await api(`/v1/sessions/${items[0].id}/timeline`);
        // As the SDK reads them: PSS hardly ever, the others at other moments. How many a short session of a busy
        // machine has of each is chance, so they are put in its place.
        const series = (name, value, ...parts) => ({ name, unit: 'KiB', group: 'memory', t_us: parts.map((p) => Math.round(p * timeline.end_us)), value: parts.map(() => value) });
        const names = {
            PSS: series('pss_kb', 100000, 0.3),
            RSS: series('rss_kb', 200000, 0.1, 0.2, 0.5, 0.9),
            RssAnon: series('rss_anon_kb', 50000, 0.15, 0.25, 0.55, 0.8),
        };
        const read = (name) => names[name];
        const { page, complaints, done } = await open({ role: 'read' });
        await page.route('**/timeline', (route) => route.fulfill({ json: { ...timeline, hardware: Object.values(names) } }));
        await page.goto(`${base}/sessions/${items[0].id}`);
        const lane = page.locator('.lane', { hasText: 'Memory' });
        await lane.locator('.u-over').waitFor();
        // of each line where its colour begins and ends, as parts of the lane
        const drawn = await lane.evaluate((box) => {
            const canvas = box.querySelector('canvas');
            const over = box.querySelector('.u-over');
            const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return [...box.querySelectorAll('.cap i')].map((swatch) => {
                const colour = getComputedStyle(swatch).backgroundColor.match(/\d+/g).map(Number);
                const near = (at) => colour.every((c, k) => Math.abs(c - data[at + k]) < 24) && data[at + 3] > 200; // scenes are a tint
                const hit = (x, y) => near((y * width + x) * 4);
                const columns = Array.from({ length: width }, (_, x) => x).filter((x) => Array.from({ length: height }, (_, y) => y).some((y) => hit(x, y)));
                const part = (x) => (x - over.offsetLeft) / over.clientWidth;
                return { name: swatch.parentElement.textContent.trim(), from: part(columns[0]), to: part(columns.at(-1)) };
            });
        });
        for (const name of Object.keys(names)) {
            const line = drawn.find((l) => l.name === name);
            const [from, to] = [read(name).t_us[0], read(name).t_us.at(-1)].map((us) => us / timeline.end_us);
            assert.ok(Math.abs(line?.from - from) < 0.02 && Math.abs(line?.to - to) < 0.02, `${name} from ${from} to ${to}: ${JSON.stringify(drawn)}`);
        }
        const middle = await lane.locator('.u-over').boundingBox();
        await page.mouse.move(middle.x + middle.width / 2, middle.y + middle.height / 2);
        for (const name of Object.keys(names)) assert.match(await lane.locator('.cap span', { hasText: new RegExp(`^${name} `) }).innerText(), /\d MB$/);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'the axis of time tells parts of a second where its steps are such'() {
        const s = await hottest();
        const { page, done } = await open({ role: 'read' });
        await page.addInitScript(() => {
            const write = CanvasRenderingContext2D.prototype.fillText;
            window.written = [];
            CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
                window.written.push(text);
                return write.call(this, text, ...place);
            };
        });
        for (const [t1, wanted] of [
            [28, ['0:20.500', '0:21.000', '0:27.500']],
            [60, ['0:25', '0:30', '0:55']],
        ]) {
            await page.goto(`${base}/sessions/${s.id}?t0=20&t1=${t1}`);
            await page.waitForFunction(() => window.written.some((text) => /^\d+:\d\d/.test(text)));
            const times = await page.evaluate(() => [...new Set(window.written)].filter((text) => /^\d+:\d\d/.test(text)));
            for (const w of wanted) assert.ok(times.includes(w), `${w} in ${times.join(' ')}`);
            assert.equal(new Set(times.map((text) => text.length)).size, 1, times.join(' '));
        }
        await done();
    },

    async 'figures come with their unit'() {
        const s = await hottest();
        const { page, complaints, done } = await open({ role: 'read' });
        await settled(page);
        const coming = page.waitForEvent('download');
        await page.getByRole('button', { name: 'CSV' }).click();
        const head = readFileSync(await (await coming).path(), 'utf8').split('\r\n')[0];
        for (const column of ['"Foreground, s"', '"Peak temperature, °C"', '"Peak PSS, MB"', '"Peak footprint, MB"']) assert.ok(head.includes(column), head);
        for (const name of ['Peak temperature, °C', 'Peak memory, MB']) await page.getByRole('columnheader', { name }).waitFor();
        assert.match(await page.locator('tbody tr').first().innerText(), /\d (PSS|footprint|RSS)$/);
        await page.goto(`${base}/sessions/${s.id}`);
        await page.locator('.u-over').first().waitFor();
        const lanes = await page.locator('.lane .cap b').allInnerTexts();
        assert.deepEqual(lanes, ['Frame time ms', 'Temperature °C', 'Core frequency MHz', 'Memory MB']);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a device that tells neither maker nor model has a name all the same'() {
        const { items } = await api('/v1/sessions?platform=linux&limit=1');
        assert.equal(items[0].manufacturer + items[0].model, '');
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/sessions/${items[0].id}`);
        await settled(page);
        const { device } = await api(`/v1/sessions/${items[0].id}`);
        assert.equal(await page.locator('.chip', { hasText: /^Device/ }).locator('span').last().innerText(), device.soc || 'unnamed');
        await page.goto(`${base}/devices`);
        await settled(page);
        const models = await page.getByRole('region', { name: 'Models' }).locator('tbody button').allInnerTexts();
        assert.ok(models.length > 10 && models.every((name) => name.trim()), models.join(' | '));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a zoom that follows another at once is not taken back by the address'() {
        const s = await hottest();
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/sessions/${s.id}?t0=10&t1=50`);
        await page.locator('.u-over').first().waitFor();
        // between the address and what follows it
        await page.evaluate(() => {
            const replace = history.replaceState;
            history.replaceState = function (...to) {
                replace.apply(this, to);
                history.replaceState = replace;
                document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'w', bubbles: true }));
            };
        });
        await page.keyboard.press('w');
        await page.waitForFunction(() => {
            const q = new URLSearchParams(location.search);
            return Math.abs(Number(q.get('t1')) - Number(q.get('t0')) - 40 * 0.6 * 0.6) < 0.01;
        });
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

    async 'a stack names the debug ids that its frames wait for, each once'() {
        const { items } = await api('/v1/sessions?limit=1&has_crash=true');
        const { page, complaints, done } = await open({ role: 'read' });
        const frame = (module, debug_id) => ({ frame: 0, status: 'missing', module, offset: '0x10', debug_id });
        await page.route(`**/v1/sessions/${items[0].id}`, async (route) => {
            const response = await route.fetch();
            const json = await response.json();
            json.crashes[0].symbols = [frame('libgame.so', 'a1b2c3d4'), frame('libgame.so', 'a1b2c3d4'), frame('libphysics.so', 'b1b2c3d4')];
            await route.fulfill({ response, json });
        });
        await page.goto(`${base}/sessions/${items[0].id}`);
        const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'Crash', exact: true }) });
        await card.getByText('3 frames wait for symbols').waitFor();
        assert.equal(await card.getByText('libgame.so a1b2c3d4', { exact: true }).count(), 1);
        assert.equal(await card.getByText('libphysics.so b1b2c3d4', { exact: true }).count(), 1);
        assert.deepEqual(complaints, []);
        await done();
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
        assert.match(csv, /^\ufeff"Time, s","Length, ms"/);
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
        await settled(page);
        assert.equal(await page.innerText('main h1'), 'No session has this id');
        await done();
    },
};
