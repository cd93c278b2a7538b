// How each page looks, light and dark, on a phone and on a desk, beside references; and what axe says.
// References are half the size, and are compared by blocks, so that fonts and figures may differ a
// little and a broken layout may not.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { api, axeSource, base, open, settled } from './browser.mjs';
import { pages } from './pages.mjs';
import { palettePng, pixels } from './png.mjs';

const references = new URL('references/', import.meta.url);
const update = process.env.UPDATE_GOLDEN === '1';
const only = process.env.PAGES?.split(',');
const PART = 900; // of the reference's height: as much of each page must agree by itself
const BLOCK = 10; // of the reference
const DIFFERS = 28; // of 255, mean of a block
const MOST = 0.06; // of the blocks of a part
const TALLER = 0.15; // or lower: the log of deliveries and the like may have a line more
const README = { session: 1150, compare: 1250, family: 1500 }; // heights of its pictures

// In the browser: halves a picture; then tells, of the part that differs most from the reference, how many of its
// blocks do and where it begins.
const halve = async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(Math.round(image.width / 2), Math.round(image.height / 2));
    const g = canvas.getContext('2d');
    g.imageSmoothingQuality = 'high';
    g.drawImage(image, 0, 0, canvas.width, canvas.height);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/png' })).arrayBuffer());
    let text = '';
    for (const b of bytes) text += String.fromCharCode(b);
    return btoa(text);
};
const compare = async ({ a, b, BLOCK, DIFFERS, PART }) => {
    const read = async (png) => {
        const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
        const g = new OffscreenCanvas(image.width, image.height).getContext('2d');
        g.drawImage(image, 0, 0);
        return g.getImageData(0, 0, image.width, image.height);
    };
    const [x, y] = [await read(a), await read(b)];
    const width = Math.min(x.width, y.width);
    const height = Math.min(x.height, y.height);
    const rows = []; // of blocks: how many differ
    for (let top = 0; top + BLOCK <= height; top += BLOCK) {
        let differ = 0;
        for (let left = 0; left + BLOCK <= width; left += BLOCK) {
            const sum = [0, 0];
            for (let r = top; r < top + BLOCK; r++)
                for (let c = left; c < left + BLOCK; c++)
                    [x, y].forEach((p, i) => {
                        const at = (r * p.width + c) * 4;
                        sum[i] += p.data[at] + p.data[at + 1] + p.data[at + 2];
                    });
            if (Math.abs(sum[0] - sum[1]) / (3 * BLOCK * BLOCK) > DIFFERS) differ++;
        }
        rows.push(differ);
    }
    const size = Math.min(rows.length, PART / BLOCK);
    let worst = { differ: 0, at: 0 };
    for (let from = 0; from + size <= rows.length; from++) {
        const differ = rows.slice(from, from + size).reduce((n, d) => n + d, 0) / (size * Math.floor(width / BLOCK));
        if (differ > worst.differ) worst = { differ, at: from * BLOCK };
    }
    return { ...worst, heights: [x.height, y.height], widths: [x.width, y.width] };
};

// For README.md: as a reader sees it, with the times that references leave out.
async function picture(page, name, tools) {
    const shot = await page.screenshot({ fullPage: true, clip: { x: 0, y: 0, width: 1440, height: README[name] } });
    const { width, height, rgba } = await tools.evaluate(pixels, shot.toString('base64'));
    writeFileSync(new URL(`../../docs/images/${name}.png`, import.meta.url), palettePng(Buffer.from(rgba, 'base64'), width, height, 128));
}

// Words that leave their cell, tile or heading lie over what is beside them.
const spilled = () =>
    [...document.querySelectorAll('.fold td, .stat, .chip, .card > header')]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
        .map((e) => `${e.textContent.slice(0, 40)} (${e.scrollWidth} > ${e.clientWidth} px)`);

async function shoot(page, name, tools) {
    await page.evaluate(() => {
        for (const e of document.querySelectorAll('[data-volatile]')) e.style.visibility = 'hidden';
        scrollTo(0, 0);
        document.activeElement?.blur?.();
    });
    await page.mouse.move(0, 0);
    const size = page.viewportSize();
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    const whole = await page.screenshot({ fullPage: true, caret: 'initial', clip: { x: 0, y: 0, width: size.width, height } });
    writeFileSync(`${process.env.FW_SHOTS}/${name}.png`, whole);
    const small = await tools.evaluate(halve, whole.toString('base64'));
    const file = new URL(`${name}.png`, references);
    if (update) {
        mkdirSync(references, { recursive: true });
        const { width, height, rgba } = await tools.evaluate(pixels, small);
        writeFileSync(file, palettePng(Buffer.from(rgba, 'base64'), width, height));
        return;
    }
    assert.ok(existsSync(file), `no reference of ${name}: UPDATE_GOLDEN=1 makes it`);
    const told = await tools.evaluate(compare, { a: small, b: readFileSync(file).toString('base64'), BLOCK, DIFFERS, PART });
    const [now, was] = told.heights;
    assert.ok(Math.abs(now - was) <= TALLER * was, `${name}: ${now} px high (half size), the reference ${was}`);
    assert.ok(told.differ <= MOST, `${name}: ${(100 * told.differ).toFixed(1)} % of the blocks differ from the reference, from ${2 * told.at} px on`);
}

const tests = {};
for (const theme of ['light', 'dark'])
    for (const width of [360, 1440])
        tests[`every page looks as it should, ${theme}, ${width} px`] = async () => {
            const all = await pages();
            const tools = await open({ role: null });
            await tools.page.goto('about:blank');
            const { page, complaints, done } = await open({ width, height: width < 500 ? 780 : 900, theme });
            const out = await open({ role: null, width, height: width < 500 ? 780 : 900, theme });
            const wrong = [];
            for (const [name, { path, wait, role, look }] of Object.entries(all)) {
                if (only && !only.includes(name)) continue;
                const at = role === null ? out.page : page;
                await at.goto(base + path);
                await settled(at);
                if (wait) await at.waitForSelector(wait);
                await at.waitForLoadState('networkidle');
                const wider = await at.evaluate(() => document.documentElement.scrollWidth - innerWidth);
                if (wider > 0) wrong.push(`${name} is ${wider} px wider than the screen`);
                for (const s of await at.evaluate(spilled)) wrong.push(`${name}: ${s}`);
                if (look === false) continue;
                if (update && width === 1440 && theme === 'light' && README[name]) await picture(at, name, tools.page);
                await shoot(at, `${name}-${width}-${theme}`, tools.page).catch((e) => wrong.push(e.message));
            }
            assert.deepEqual([...wrong, ...complaints, ...out.complaints], []);
            await Promise.all([done(), out.done(), tools.done()]);
        };

for (const theme of ['light', 'dark'])
    for (const width of [360, 1440])
        tests[`axe finds nothing serious, ${theme}, ${width} px`] = async () => {
            const { page, done } = await open({ theme, width });
            const out = await open({ role: null, theme, width });
            const found = [];
            for (const [name, { path, wait, role }] of Object.entries(await pages())) {
                const at = role === null ? out.page : page;
                await at.goto(base + path);
                await settled(at);
                if (wait) await at.waitForSelector(wait);
                await at.evaluate(axeSource);
                const { violations } = await at.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
                for (const v of violations)
                    if (v.impact === 'serious' || v.impact === 'critical')
                        found.push(`${name}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
            }
            assert.deepEqual(found, []);
            await Promise.all([done(), out.done()]);
        };

// Proper names, units and abbreviations that are the same in every language; then what is typed as it stands.
const SAME = `Framewatch framewatch Android iOS Linux Google Play PerfDog Perfetto speedscope Chrome Prometheus Slack Feishu
    DingTalk WeCom Alertmanager Webhook GitLab GitHub Jira TAPD Firebase ProGuard Java Mali Adreno Apple
    CSV API CI ID SDK OS SoC RAM CPU GPU PSS RSS RssAnon FPS HTML JSON P50 P90 P95 P99 footprint pprof English Debug
    ms s min h x n B KB MB GB Hz GHz W A S D N P Shift root admin read ingest test
    module package keyword function mode map metrics dump key create revoke`.split(/\s+/);
// Members of answers that hold what a game, a phone or a person named; of others the page has its own words.
const NAMED = new Set(['manufacturer', 'model', 'soc', 'gpu', 'title', 'function', 'names', 'file', 'module', 'steps', 'scene', 'scenes', 'label', 'owner', 'channel', 'pattern', 'target', 'package', 'actor', 'stack', 'note', 'os', 'os_version', 'build_uid', 'lost']);
// In the paths that match, these as well: what a player wrote, why a process died, names of steps and channels.
const NAMED_AT = [
    [/\/v1\/sessions\//, new Set(['text', 'reason', 'name', 'category', 'mode', 'map'])],
    [/\/v1\/(channels|families\/)/, new Set(['name'])],
];
const words = (text) => text.match(/[A-Za-z][A-Za-z0-9_]*/g) ?? [];

function namesIn(path, body) {
    const keys = [NAMED, ...NAMED_AT.filter(([at]) => at.test(path)).map(([, k]) => k)];
    const found = [];
    const walk = (v, key) => {
        if (typeof v === 'string') {
            if (keys.some((k) => k.has(key))) found.push(...words(v));
        } else if (Array.isArray(v)) v.forEach((x) => walk(x, key));
        else if (v && typeof v === 'object') for (const [k, x] of Object.entries(v)) walk(x, k);
    };
    walk(body, '');
    return found;
}

// In the browser: what is read on the page, without what is marked as a machine's words: code, ids and functions, and
// messages of the server.
const textsOf = () => {
    const skip = 'code, .mono, .frames, [lang=en], script, noscript, style, textarea';
    const texts = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(skip)) texts.push(walk.currentNode.data);
    for (const e of document.querySelectorAll('[aria-label], [title]'))
        if (!e.closest(skip)) texts.push(e.getAttribute('aria-label') ?? '', e.getAttribute('title') ?? '');
    for (const e of document.querySelectorAll('.frames .where')) texts.push(...[...e.childNodes].slice(1).map((n) => n.textContent));
    return texts.map((x) => x.trim()).filter(Boolean);
};

tests['every page reads in Chinese, to the last word'] = async () => {
    const { page, complaints, done } = await open({ lang: 'zh' });
    const left = new Set();
    const answers = [];
    page.on('response', (r) => {
        if (!/\/v1\//.test(r.url()) || !/json/.test(r.headers()['content-type'] ?? '')) return;
        answers.push(r.json().then((body) => namesIn(new URL(r.url()).pathname, body), () => []));
    });
    const all = await pages();
    const jank = (await api(`/v1${all.session.path}/janks`)).janks.findLast((j) => j.level > 0);
    const model = (await api('/v1/tiers/models?limit=50')).items.find((m) => m.p90_ms !== null);
    const { hash } = (await api(`/v1/families/${all.family.path.split('/').pop()}/stacks?limit=1`)).items[0];
    Object.assign(all, {
        'session, a jank': { path: `${all.session.path}?jank=${jank.index}`, wait: '#janks .detail' },
        'devices, a model': { path: `/devices?model=${model.id}`, wait: '.detail' },
        'family, a stack': { path: `${all.family.path}?stack=${hash}&by=causes&look=list` },
        'compare, a list': { path: `${all.compare.path}&metric=throttled&look=list` },
        'health, day 3': { path: '/health?day=3' },
        'sessions, none': { path: '/sessions?model=nothing' },
    });
    for (const [name, { path, wait }] of Object.entries(all)) {
        if (name === 'login' || (only && !only.includes(name))) continue;
        answers.length = 0;
        await page.goto(base + path);
        await settled(page);
        if (wait) await page.waitForSelector(wait);
        await page.waitForLoadState('networkidle');
        const known = new Set([...SAME, ...(await Promise.all(answers)).flat()]);
        for (const text of await page.evaluate(textsOf)) {
            const english = words(text).filter((w) => /[a-z]{2}/.test(w) && !/[\d_]/.test(w) && !known.has(w));
            if (english.length) left.add(`${name}: ${english.join(' ')}: “${text.slice(0, 100)}”`);
        }
    }
    assert.deepEqual([...left, ...complaints], []);
    assert.equal(await page.getAttribute('html', 'lang'), 'zh-CN');
    await done();
};

tests['the page knows every sentence that a cause is told with'] = async () => {
    const source = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    const cause = source('analysis/profile/cause.c');
    const said = [...cause.matchAll(/say\(l, CAUSE_\w+,\s*"([^"]+)"/g), ...cause.matchAll(/[?:] "([^"]+)"/g)].map((m) => m[1].replace(/%[\d.]*(lld|u|d|f|s)/g, '{}').replace(/%%/g, '%'));
    const known = [...source('server/web/src/lib/evidence.ts').matchAll(/form\('([^']+)'\)/g)].map((m) => m[1].replace(/\{\w+\}/g, '{}'));
    assert.ok(said.length > 10);
    assert.deepEqual([...new Set(said)].sort(), known.sort());
};

tests['every table saves as CSV'] = async () => {
    const { page, complaints, done } = await open();
    const left = [];
    for (const [name, { path, wait }] of Object.entries(await pages())) {
        if (name === 'login') continue;
        await page.goto(base + path);
        await settled(page);
        if (wait) await page.waitForSelector(wait);
        await page.waitForLoadState('networkidle');
        left.push(
            ...(await page.evaluate(
                (name) =>
                    [...document.querySelectorAll('table')]
                        .filter((t) => ![...(t.closest('.card')?.querySelectorAll('button') ?? [])].some((b) => b.textContent === 'CSV'))
                        .map((t) => `${name}: ${t.caption?.textContent}`),
                name,
            )),
        );
    }
    assert.deepEqual([...left, ...complaints], []);
    await done();
};

export default tests;
