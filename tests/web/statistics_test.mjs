// What release managers and engineers come for: the alert and who got it, the family behind it, rules.
import assert from 'node:assert/strict';
import { api, base, open, settled } from './browser.mjs';

export default {
    async 'the alert says what, where and by how much, and who was told'() {
        const alert = (await api('/v1/alerts?state=live&limit=1')).items[0];
        const { page, complaints, done } = await open();
        await page.goto(`${base}/alerts`);
        await page.locator(`a[href="/alerts/${alert.id}"]`).first().click();
        await page.waitForURL(`${base}/alerts/${alert.id}`);
        await settled(page);
        const head = await page.innerText('.head');
        assert.ok(head.includes(alert.tier_name), head);
        assert.ok(head.includes(`${(alert.change * 100).toFixed(1)} %`), `${alert.change} in ${head}`);
        const row = page.locator('#deliveries tbody tr', { hasText: 'release-chat' }).first();
        await row.waitFor();
        assert.match(await row.innerText(), /taken|waiting|being sent/);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a regression leads to the family behind it, by clicks alone'() {
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(base);
        await settled(page);
        await page.getByRole('navigation').getByRole('link', { name: 'Alerts' }).click();
        await page.waitForURL(`${base}/alerts`);
        await page.getByRole('region', { name: 'Alerts' }).locator('tbody tr a').first().click();
        await page.waitForURL(/\/alerts\/\d+$/);
        await settled(page);
        const row = page.getByRole('region', { name: 'Families whose rate moved' }).locator('tbody tr').first();
        const cells = await row.locator('td').allInnerTexts();
        const [now, was] = cells.slice(1, 3).map((s) => Number(s.replace(/[^\d.]/g, '')));
        assert.ok(now > 2 * was, `what moved most: ${cells.join(' | ')}`);
        await row.locator('a').click();
        await page.waitForURL(/\/janks\/[0-9a-f]{32}\?build=\d+$/);
        await settled(page);
        // what framewatch demo --more-janks adds to battles
        assert.match(await page.innerText('h1'), /Particles::Sort/);
        await page.locator('.card', { hasText: 'Why these belong together' }).locator('ol').getByText('Skill::Meteor').waitFor();
        const builds = (await api(`/v1/families/${new URL(page.url()).pathname.split('/').pop()}`)).builds;
        const rate = (version) => Math.max(...builds.filter((b) => b.build.version_name === version).map((b) => b.rate));
        assert.ok(rate('2.14.0') > 2 * rate('2.13.0'), JSON.stringify(builds));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'an alert is acknowledged with a note'() {
        const alert = (await api('/v1/alerts?state=live&limit=1')).items[0];
        const { page, complaints, done } = await open();
        await page.goto(`${base}/alerts/${alert.id}`);
        await page.getByLabel('Note').fill('I look at it');
        await page.getByRole('button', { name: 'Acknowledge' }).click();
        await page.getByText('I look at it').waitFor();
        assert.equal((await api(`/v1/alerts/${alert.id}`)).state, 'acknowledged');
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'who silenced an alert is not said to have acknowledged it'() {
        const alert = (await api('/v1/alerts?state=live&limit=50')).items.at(-1);
        const { page, complaints, done } = await open();
        await page.goto(`${base}/alerts/${alert.id}`);
        await page.getByLabel('Note').fill('known until the next build');
        await page.getByRole('button', { name: 'Silence for' }).click();
        const word = page.locator('p', { hasText: 'known until the next build' });
        await word.waitFor();
        assert.match(await word.innerText(), /^Silenced with key /);
        await page.getByText(/^Silenced until /).waitFor({ state: 'attached' });
        await page.getByRole('button', { name: 'Speak again' }).click();
        await page.getByRole('button', { name: 'Speak again' }).waitFor({ state: 'detached' });
        await page.getByText(/^Somebody last saw to it with key /).waitFor();
        assert.equal(await page.getByText(/^(Acknowledged|Silenced) /).count(), 0);
        assert.equal((await api(`/v1/alerts/${alert.id}`)).state, 'updated');
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'comparing leads to the scene that became slower'() {
        const alert = (await api('/v1/alerts?limit=1')).items[0];
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/compare?build=${alert.build_id}&metric=${alert.metric}`);
        await settled(page);
        await page.locator('.card', { hasText: 'figures are worse' }).first().waitFor();
        const answer = await api(`/v1/report?build=${alert.build_id}`);
        const watched = answer.metrics.filter((m) => m.watched).map((m) => m.name);
        const worse = answer.slices.filter((s) => s.tier > 0).flatMap((s) => watched.filter((m) => (s.figures[m]?.low ?? 0) > 0));
        assert.ok(worse.length > 0);
        assert.equal(await page.locator('#worse li').count(), worse.length);
        const slice = answer.slices.find((s) => s.tier === alert.tier && s.scene === alert.scene);
        const change = slice.figures[alert.metric].change;
        assert.ok(change > 0);
        await page.goto(`${base}/compare?build=${alert.build_id}&metric=${alert.metric}&tier=${alert.tier}&scene=${encodeURIComponent(alert.scene)}`);
        await settled(page);
        assert.ok((await page.innerText('#metrics')).includes(`${(change * 100).toFixed(1)} %`));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a family tells why its stacks belong together and leads to a session that shows it'() {
        const family = (await api('/v1/families?limit=1')).items[0];
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/janks`);
        await page.locator(`a[href^="/janks/${family.id}"]`).first().click();
        await page.waitForURL(`${base}/janks/${family.id}`);
        await settled(page);
        const detail = await api(`/v1/families/${family.id}`);
        await page.getByText(detail.why.sentence).waitFor(); // the page builds its own, in both languages
        await page.locator('.flame canvas').waitFor();
        await page.getByRole('tab', { name: 'Scenes' }).click();
        await page.waitForURL(/by=scenes/);
        await page.getByRole('region', { name: 'Sessions that show it' }).locator('a').first().click();
        await page.waitForURL(/\/sessions\/[0-9a-f]{32}\?t0=/);
        await page.locator('.u-over').first().waitFor();
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a verdict shows the last of its looks, each platform its own'() {
        const family = (await api('/v1/families?limit=1')).items[0];
        const build = (id, platform, version_name) => ({ id, platform, version_name, version_code: 200 + id, registered: true });
        const look = (n, label, ratio) => ({ look: n, label, ratio, low: 0.4, high: 1.6, phi: 1, expected: 20 * 2 ** (n - 1), events_old: 40, events_new: n * 10, foreground_old_ms: 3.6e6, foreground_new_ms: 3.6e6, judged_at: '2026-01-01T00:00:00Z' });
        const verdict = (platform, id, label, looks) => ({ build: build(id + 1, platform, '2.15.0'), baseline: build(id, platform, '2.14.0'), verdict: label, final: false, looks });
        const items = [verdict('ios', 3, 'too_little_data', [look(1, 'too_little_data', 0.91)]), verdict('android', 1, 'not_fixed', [look(2, 'not_fixed', 1.11), look(1, 'too_little_data', 0.77)])];
        const { page, complaints, done } = await open({ role: 'read' });
        await page.route('**/verdicts', (route) => route.fulfill({ json: { items, next: null } }));
        await page.goto(`${base}/janks/${family.id}`);
        await settled(page);
        const card = (title) => page.locator('section.card').filter({ has: page.getByRole('heading', { name: title }) });
        const text = await card('Verdicts').innerText();
        assert.match(text, /not fixed\s+2\.15\.0 \(202, Android\) against 2\.14\.0 \(201, Android\)\s+rate 1\.11 × the old one \(99\.5 % interval 0\.4\d* – 1\.6\d*\)/);
        assert.match(text, /too little data\s+2\.15\.0 \(204, iOS\)[^]*rate 0\.91/);
        assert.doesNotMatch(text, /0\.77/);
        assert.match(await card('What players did before').innerText(), /a sample: \d+ windows before [\d,]+ events/);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'the flame graph turns around a function and is a list as well'() {
        const family = (await api('/v1/families?limit=1')).items[0];
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/janks/${family.id}?look=list`);
        await settled(page);
        const button = page.getByRole('region', { name: 'Functions' }).getByRole('button').filter({ hasText: '::' }).first();
        const name = (await button.innerText()).trim();
        await button.click();
        await page.waitForURL(/fn=/);
        await page.getByText('What is called from').waitFor();
        assert.equal(new URL(page.url()).searchParams.get('fn'), name);
        await page.getByRole('button', { name: 'callers' }).click();
        await page.waitForURL(/side=callers/);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a zoom into the flame graph is in the address, and a link shows it again'() {
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/janks/flame`);
        await page.locator('.flame canvas').click({ position: { x: 30, y: 4.5 * 19 } });
        await page.waitForURL(/zoom=/);
        const name = page.locator('.flame + .row code');
        const was = await name.innerText();
        const link = page.url();
        await page.goto(`${base}/sessions`);
        await page.goto(link);
        await name.waitFor();
        assert.equal(await name.innerText(), was);
        assert.equal(page.url(), link);
        await page.locator('.flame + .row').getByRole('button', { name: 'All', exact: true }).click();
        await page.waitForURL((url) => !url.searchParams.has('zoom'));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'stacks open in the speedscope that the server has with it'() {
        const { page, context, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/janks/flame`);
        await settled(page);
        const coming = context.waitForEvent('page');
        await page.getByRole('link', { name: 'speedscope' }).click();
        const scope = await coming;
        await scope.waitForFunction(() => document.querySelector('canvas') && /Framewatch|janks|speedscope/i.test(document.title));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a rule is previewed before it is saved, and no count moves'() {
        const before = await api('/v1/families?limit=1');
        const { page, complaints, done } = await open();
        await page.goto(`${base}/rules`);
        await settled(page);
        const save = page.getByRole('button', { name: 'Save', exact: true });
        await page.getByLabel('Owners: the first that matches an own frame').fill('keyword AdLoader = ads team');
        assert.ok(await save.isDisabled(), 'nothing is saved that was not previewed');
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.locator('#preview').getByText('ads team').first().waitFor();
        const ads = (await api('/v1/families?limit=50')).items.find((f) => f.kind === 'jank' && f.title.includes('AdLoader'));
        const affects = await page.locator('#preview').getByText(/^It affects/).innerText();
        const [, stacks, sessions, , events] = affects.match(/affects ([\d,]+) stacks: about ([\d,]+) sessions of ([\d,]+) installs .*, ([\d,]+) events/).map((s) => Number(s.replaceAll(',', '')));
        assert.deepEqual([stacks, events], [ads.stacks, ads.events], affects);
        assert.ok(Math.abs(sessions - ads.sessions) <= 0.1 * ads.sessions, `${affects}, the family: ${ads.sessions} sessions`);
        await page.getByLabel('What for').fill('ads have a team');
        await save.click();
        await page.getByText('ads have a team').waitFor();
        const rules = await api('/v1/family-rules');
        assert.deepEqual(rules.owners, [{ field: 'keyword', pattern: 'AdLoader', owner: 'ads team' }]);
        const deadline = Date.now() + 60000;
        let list;
        do {
            list = await api('/v1/families?limit=50');
            await new Promise((r) => setTimeout(r, 200));
        } while (list.pending && Date.now() < deadline);
        assert.equal(list.sessions, before.sessions);
        assert.ok(list.items.some((f) => f.owner === 'ads team'));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'every page calls a tier by its name'() {
        const tiers = (await api('/v1/tiers')).tiers.filter((x) => x.tier > 0);
        const session = (await api('/v1/sessions?limit=50')).items.find((s) => s.tier > 0);
        const family = await api(`/v1/families/${(await api('/v1/families?limit=1')).items[0].id}`);
        const { page, complaints, done } = await open({ role: 'read' });
        assert.equal(session.tier_name, tiers.find((x) => x.tier === session.tier).name);
        await page.goto(`${base}/sessions/${session.id}`);
        await settled(page);
        assert.match(await page.locator('.chip').filter({ hasText: /^Tier/ }).innerText(), new RegExp(`\\b${session.tier_name}\\b`));
        await page.goto(`${base}/janks/${family.id}?by=tiers`);
        await settled(page);
        const rows = page.getByRole('table', { name: 'Where it happens' }).locator('tbody a');
        assert.deepEqual((await rows.allInnerTexts()).sort(), family.tiers.map((x) => x.tier_name).sort());
        await page.goto(`${base}/janks?tier=${tiers.length}`);
        await settled(page);
        const choice = page.locator('.filters label').filter({ hasText: /^Tier/ }).locator('select');
        assert.deepEqual(await choice.locator('option').allInnerTexts(), ['all', ...tiers.map((x) => x.name), 'untiered']);
        assert.equal(await choice.inputValue(), String(tiers.length));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a model says why it is in its tier'() {
        const { items } = await api('/v1/tiers/models?limit=50');
        const model = items.find((m) => m.p90_ms !== null);
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/devices?model=${model.id}`);
        await page.locator('.detail').getByText('Expected P90').waitFor();
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'adoption is a curve beside the numbers, of what the API counts'() {
        const alert = (await api('/v1/alerts?limit=1')).items[0];
        const { items } = await api(`/v1/adoption?build=${alert.build_id}`);
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/compare?build=${alert.build_id}`);
        await settled(page);
        const card = page.locator('#adoption');
        const legend = card.locator('.legend li');
        await legend.first().waitFor();
        const played = items.filter((b) => b.days.length);
        assert.equal(await legend.count(), played.length);
        assert.equal(await card.locator('svg polyline').count(), played.length);
        const shares = (await card.locator('.legend b').allInnerTexts()).map((s) => Number(s.replace(/[ %]/g, '')));
        assert.ok(Math.abs(shares.reduce((a, b) => a + b, 0) - 100) < 1, shares.join());
        const chosen = items.find((b) => b.build_id === alert.build_id);
        const sessions = chosen.days.reduce((n, d) => n + d.sessions, 0);
        assert.ok((await legend.first().innerText()).includes(`n ${sessions.toLocaleString('en-GB')}`));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'the report to print is a page by itself'() {
        const alert = (await api('/v1/alerts?limit=1')).items[0];
        const { page, context, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/compare?build=${alert.build_id}`);
        await settled(page);
        const coming = context.waitForEvent('page');
        await page.getByRole('link', { name: 'Report to print' }).click();
        const report = await coming;
        await report.waitForSelector('table');
        await report.setViewportSize({ width: 360, height: 780 });
        assert.equal(await report.evaluate(() => document.documentElement.scrollWidth), 360);
        assert.deepEqual(complaints, []);
        // and says of each figure what the page says of it
        const printed = await report.innerText('body');
        const rows = page.getByRole('region', { name: 'All metrics' }).locator('tbody tr');
        assert.ok((await rows.count()) > 10);
        for (const row of await rows.all()) {
            const tip = row.locator('.tip button');
            await tip.focus();
            const says = await row.locator('.pop').innerText();
            assert.ok(printed.includes(says), says);
        }
        await done();
    },

    async 'a change stands beside the sessions it was taken from, wherever it stands'() {
        const alert = (await api('/v1/alerts?state=live&limit=1')).items[0];
        const { sessions, baseline_sessions } = alert.evidence;
        const n = (v) => v.toLocaleString('en-GB');
        const pair = `${n(sessions)} / ${n(baseline_sessions)}`;
        const slice = (await api(`/v1/report?build=${alert.build_id}`)).slices.find((s) => s.tier === alert.tier && s.scene === alert.scene);
        const figure = slice.figures[alert.metric];
        assert.notEqual(figure.compared_n, figure.n, 'or the test tells nothing');
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/alerts`);
        await settled(page);
        const row = page.getByRole('region', { name: 'Alerts' }).locator('tbody tr', { has: page.locator(`a[href="/alerts/${alert.id}"]`) });
        assert.ok((await row.innerText()).includes(pair), await row.innerText());
        await page.goto(`${base}/compare?build=${alert.build_id}&metric=${alert.metric}&tier=${alert.tier}&scene=${encodeURIComponent(alert.scene)}`);
        await settled(page);
        const compared = `${n(figure.compared_n)} / ${n(figure.compared_baseline_n)}`;
        assert.ok((await page.innerText('#metrics')).includes(compared), compared);
        const html = await page.evaluate(async (path) => (await fetch(path)).text(), `/v1/report?build=${alert.build_id}&format=html`);
        assert.ok(html.includes(`n = ${figure.compared_n} / ${figure.compared_baseline_n}<`));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a build has the figures that Compare has of it'() {
        const alert = (await api('/v1/alerts?limit=1')).items[0];
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/compare?build=${alert.build_id}`);
        await settled(page);
        const cells = page.getByRole('region', { name: 'All metrics' }).locator('tbody tr');
        const compare = {};
        for (const row of await cells.all()) compare[(await row.locator('.tip button').getAttribute('aria-label'))] = await row.locator('td').nth(2).innerText();
        await page.goto(`${base}/builds/${alert.build_id}`);
        await settled(page);
        await page.locator('.stat .tip').first().waitFor();
        let told = 0;
        for (const stat of await page.locator('.stat', { has: page.locator('.tip') }).all()) {
            const label = await stat.locator('.tip button').getAttribute('aria-label');
            assert.ok((await stat.locator('b').innerText()).startsWith(compare[label]), `${label}: ${await stat.innerText()}, Compare ${compare[label]}`);
            told++;
        }
        assert.equal(told, 6);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'gaps between tiers are those of the API'() {
        const alert = (await api('/v1/alerts?limit=1')).items[0];
        const { gaps, slices } = await api(`/v1/report?build=${alert.build_id}`);
        assert.ok(gaps.length > 0);
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/scenes?build=${alert.build_id}`);
        await settled(page);
        const rows = page.getByRole('region', { name: 'Gap between tiers' }).locator('tbody tr');
        for (const scene of new Set(slices.map((s) => s.scene).filter(Boolean))) {
            const said = await rows.filter({ hasText: scene }).innerText();
            const gap = gaps.find((g) => g.scene === scene);
            assert.ok(said.includes(gap ? `× ${gap.ratio.toFixed(2)}` : '–'), `${said} / ${JSON.stringify(gap)}`);
        }
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a heat map has places'() {
        const alert = (await api('/v1/alerts?limit=1')).items[0];
        const { page, complaints, done } = await open({ role: 'read' });
        await page.goto(`${base}/scenes?build=${alert.build_id}&visits=1`);
        await page.locator('.canvas canvas').waitFor();
        assert.ok((await page.getByRole('region', { name: 'Worst places' }).locator('tbody tr').count()) > 0);
        assert.deepEqual(complaints, []);
        await done();
    },
};
