// See web.sh. Prints one line a figure: name, median, all values.
import { request } from 'node:http';
import { api, base, close, key, open, settled } from '../web/browser.mjs';

const loads = Number(process.env.FW_LOADS ?? 5);
const FRAMES = 36000;
const middle = (v) => [...v].sort((a, b) => a - b)[Math.floor(v.length / 2)];
const print = (name, unit, values) =>
    console.log(`${name.padEnd(44)} ${middle(values).toFixed(1).padStart(9)} ${unit}   ${values.map((v) => v.toFixed(1)).join(' ')}`);

// The session whose number of frames is nearest to 36,000 from above, analysed.
async function choose() {
    const deadline = Date.now() + 300000;
    for (;;) {
        const { items } = await api('/v1/sessions?limit=200');
        const jobs = await api('/v1/jobs?limit=200&state=ready');
        const waiting = jobs.items.some((j) => j.kind === 'part');
        const fit = items.filter((s) => s.frames >= FRAMES).sort((a, b) => a.frames - b.frames);
        if (!waiting && fit.length) return fit[0];
        if (Date.now() > deadline) throw new Error('no session of 36,000 frames');
        await new Promise((r) => setTimeout(r, 500));
    }
}

const bytesOf = (base, path) =>
    new Promise((resolve, reject) => {
        const r = request(base + path, { headers: { 'Accept-Encoding': 'gzip' } }, (a) => {
            let n = 0;
            a.on('data', (d) => (n += d.length));
            a.on('end', () => resolve(n));
        });
        r.on('error', reject);
        r.end();
    });

const session = await choose();
const KEYS = ['w', 'w', 'a', 'd', 's', 's', 'w', 'd', 's', '0', 'w', 'w', 'w', 'w', 'a', 'd', 's', 's', 's', '0'];
const MOVES = 60;

// In the page. Of a key: its handler and, at the browser's next frame, what the page then does; the wait
// between the two is not counted. Of a movement: until the next frame.
const zooming = async (keys) => {
    const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
    const taken = [];
    for (const key of keys) {
        await frame();
        let drawing;
        requestAnimationFrame(() => (drawing = performance.now()));
        const began = performance.now();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await null;
        await null;
        await null;
        const handled = performance.now() - began;
        await new Promise((r) => requestAnimationFrame(() => r()));
        taken.push(handled + performance.now() - drawing);
    }
    await new Promise((r) => setTimeout(r, 500)); // the address follows
    await frame();
    return taken;
};
const moving = async (moves) => {
    const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
    const over = document.querySelector('.u-over');
    const box = over.getBoundingClientRect();
    const taken = [];
    for (let n = 0; n < moves; n++) {
        await frame();
        const began = performance.now();
        over.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + (box.width * n) / moves, clientY: box.top + 60, bubbles: true }));
        await new Promise((r) => requestAnimationFrame(r));
        taken.push(performance.now() - began);
    }
    await frame();
    return taken;
};

async function load(base, into) {
    const { page, context, done } = await open({ role: null });
    await page.goto(`${base}/login`);
    await page.fill('input[name=key]', key('read'));
    await page.click('button.primary');
    await page.waitForURL('**/sessions');
    await settled(page);
    into.scripts ??= await page.evaluate(() =>
        performance.getEntriesByType('resource').filter((e) => /\/assets\/.*\.js$/.test(e.name)).map((e) => new URL(e.name).pathname),
    );
    const state = await context.storageState();
    await done();

    // another context: nothing in its cache
    const cold = await open({ role: null });
    await cold.context.addCookies(state.cookies);
    await cold.context.addInitScript((items) => items.forEach(({ name, value }) => localStorage.setItem(name, value)), state.origins[0].localStorage);
    await cold.page.goto(`${base}/sessions/${session.id}`);
    await cold.page.waitForFunction(() => performance.getEntriesByName('fw-timeline').length && document.querySelector('#janks tbody tr') && !document.querySelector('.skeleton'));
    into.drawn.push(await cold.page.evaluate(() => new Promise((r) => requestAnimationFrame(() => setTimeout(() => r(performance.now()))))));

    // CPU time of the page's thread: drawing, layout and painting with it, whatever else the machine does
    const cdp = await cold.context.newCDPSession(cold.page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const spent = async () => 1000 * (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;
    const measured = async (run, what) => {
        const before = await spent();
        const taken = await cold.page.evaluate(run, what);
        return [middle(taken), ((await spent()) - before) / taken.length];
    };
    const [zoom, zoomCpu] = await measured(zooming, KEYS);
    const [move, moveCpu] = await measured(moving, MOVES);
    into.zoom.push(zoom);
    into.zoomCpu.push(zoomCpu);
    into.move.push(move);
    into.moveCpu.push(moveCpu);
    into.heap.push((await cold.page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0)) / 1e6);
    await cold.done();
}

const bases = [base, ...(process.env.FW_OTHER_URL ? [process.env.FW_OTHER_URL] : [])];
const all = bases.map(() => ({ drawn: [], zoom: [], zoomCpu: [], move: [], moveCpu: [], heap: [] }));
for (let i = 0; i < loads; i++) for (const n in bases) await load(bases[n], all[n]);
for (const [n, of] of all.entries()) {
    if (bases.length > 1) console.log(n ? 'the other page:' : 'this page:');
    const sizes = await Promise.all(of.scripts.map((path) => bytesOf(bases[n], path)));
    print('scripts of the first page, gzip', 'KB', [sizes.reduce((a, b) => a + b, 0) / 1000]);
    print(`session of ${session.frames} frames, cold, all drawn`, 'ms', of.drawn);
    print('zoom, all lanes drawn', 'ms', of.zoom);
    print('zoom, CPU of the page in all', 'ms', of.zoomCpu);
    print('cursor moved, to the next frame', 'ms', of.move);
    print('cursor moved, CPU of the page in all', 'ms', of.moveCpu);
    print('heap of scripts', 'MB', of.heap);
}
await close();
