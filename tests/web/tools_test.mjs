// What only admins do: channels, merges and splits. Late, for it changes what other tests look at.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { api, base, LIMIT_MS, open, send, settled, until } from './browser.mjs';

const sql = (text) => {
    const [command, ...args] = process.env.FW_PSQL.trim().split('\n');
    execFileSync(command, [...args, '-d', 'framewatch', '-c', text]);
};
const channel = async (name) => (await api('/v1/channels')).items.find((c) => c.name === name);

export default {
    async 'a channel is added, changed, tested and removed, and its secrets never come out'() {
        const { target } = (await api('/v1/channels')).items[0]; // where somebody listens
        const secret = 'c2VjcmV0-that-nobody-reads';
        const { page, complaints, done } = await open();
        await page.goto(`${base}/alerts`);
        await settled(page);
        const card = page.locator('#channels');
        const dialog = page.locator('dialog');

        await card.getByRole('button', { name: 'Add' }).click();
        await dialog.getByLabel('Name').fill('night-chat');
        await dialog.getByLabel('Kind').selectOption('webhook');
        await dialog.getByLabel('Address of the webhook').fill(`${target}/night`);
        await dialog.getByLabel('Key that signs').fill(secret);
        await dialog.getByLabel('quiet hours').check();
        await dialog.getByRole('button', { name: 'Save' }).click();
        const row = card.locator('tbody tr', { hasText: 'night-chat' });
        await row.waitFor();
        const made = await channel('night-chat');
        assert.deepEqual([...made.secrets_set].sort(), ['key', 'url']);
        assert.equal(made.quiet.from, '22:00');
        assert.equal(made.filter.min_severity, 'warn');

        await row.getByRole('button', { name: 'Change night-chat' }).click();
        assert.equal(await dialog.getByLabel('Key that signs').inputValue(), '');
        await dialog.getByLabel('Tells').selectOption('alert');
        await dialog.getByLabel('quiet hours').uncheck();
        await dialog.getByRole('button', { name: 'Save' }).click();
        await until(() => channel('night-chat'), (c) => c.filter.min_severity === 'alert' && c.quiet === null);
        assert.deepEqual([...(await channel('night-chat')).secrets_set].sort(), ['key', 'url']);

        await row.getByRole('button', { name: 'Send a test' }).click();
        await row.getByText('queued').waitFor();
        await until(
            () => api('/v1/deliveries?limit=50'),
            ({ items }) => items.some((d) => d.channel_id === made.id && d.kind === 'test' && d.state === 'sent'),
        );
        for (const text of [await page.content(), JSON.stringify(await api('/v1/channels')), JSON.stringify(await api('/v1/deliveries?limit=50'))])
            assert.ok(!text.includes(secret));

        await row.getByRole('button', { name: 'Remove night-chat?' }).click();
        await dialog.getByRole('button', { name: 'Remove' }).click();
        await row.waitFor({ state: 'detached' });
        assert.equal(await channel('night-chat'), undefined);
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a channel that the server refuses says which field is wrong'() {
        const { page, done } = await open();
        await page.goto(`${base}/alerts`);
        await settled(page);
        await page.locator('#channels').getByRole('button', { name: 'Add' }).click();
        const dialog = page.locator('dialog');
        await dialog.getByLabel('Name').fill('wrong');
        await dialog.getByLabel('Kind').selectOption('gitlab');
        await dialog.getByLabel('Project').fill('group/name');
        await dialog.getByLabel('Owners, one a line: owner = user there').fill('nobody');
        await dialog.getByLabel('Token').fill('x');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.getByText('“nobody” has no “=”').waitFor();
        await dialog.getByLabel('Owners, one a line: owner = user there').fill('');
        await dialog.getByLabel('Address').fill('ftp://example.org');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.getByText('settings.url').waitFor();
        await dialog.getByRole('button', { name: 'Cancel' }).click();
        assert.equal(await channel('wrong'), undefined);
        await done();
    },

    async 'a family is merged into another by hand, which is undone'() {
        const list = () => api('/v1/families?limit=100');
        const sum = (l) => l.items.reduce((n, f) => n + f.events, 0);
        const has = (l, id) => l.items.some((f) => f.id === id);
        const before = await list();
        const [into, from] = before.items.filter((f) => f.kind === 'jank');
        const { page, complaints, done } = await open();
        await page.goto(`${base}/janks/${from.id}`);
        await settled(page);
        const card = page.locator('#by-hand');
        await card.getByLabel('What for').fill('the same loader');
        await card.getByLabel('Into the family').selectOption(into.id);
        await card.getByRole('button', { name: 'Merge' }).click();
        await page.waitForURL(`${base}/janks/${into.id}`);
        const merged = await until(list, (l) => !l.pending && !has(l, from.id));
        assert.equal(sum(merged), sum(before), 'no count moves');

        await page.goto(`${base}/rules`);
        await settled(page);
        const entry = page.locator('#edits li', { hasText: 'the same loader' });
        await entry.getByRole('button', { name: 'Undo' }).click();
        await entry.getByText('undone by').waitFor({ state: 'attached' });
        const after = await until(list, (l) => !l.pending && has(l, from.id));
        assert.equal(sum(after), sum(before));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a merge that nobody made tells why, and a person undoes it'() {
        const [into, from] = (await api('/v1/families?limit=100')).items.filter((f) => f.kind === 'jank');
        // The job that looks for kin comes every ten minutes and would take back what holds not: it has just been.
        await send('/v1/schedule/kin');
        await until(
            () => Promise.all(['ready', 'running'].map((s) => api(`/v1/jobs?limit=200&state=${s}`))),
            (all) => !all.some((l) => l.items.some((j) => j.kind === 'kin' && j.run_after <= new Date().toISOString())),
        );
        const edit = await send(`/v1/families/${from.id}/merge`, { into: into.id });
        sql(`UPDATE family_edit SET by_kin = 'lost', lost = 'Loader::next', actor = 'auto' WHERE edit_id = ${edit.id}`);
        await until(() => api('/v1/families?limit=100'), (l) => !l.pending && !l.items.some((f) => f.id === from.id));
        const { page, complaints, done } = await open();
        await page.goto(`${base}/janks/${into.id}`);
        await settled(page);
        const entry = page.locator('#by-hand li', { hasText: from.id.slice(0, 10) }).first();
        await entry.getByText('Merged by itself because they are the same but for frames that compilers lost: Loader::next.').waitFor();
        assert.match(await entry.innerText(), /the job that looks for kin/);
        await page.goto(`${base}/janks/${into.id}?lang=zh`);
        await entry.getByText('自动合并，因为除编译器丢失的帧外两者相同：Loader::next。').waitFor();
        await page.goto(`${base}/janks/${into.id}?lang=en`);
        await entry.getByRole('button', { name: 'Undo' }).click();
        await entry.getByText('undone by').waitFor({ state: 'attached' });
        await until(() => api('/v1/families?limit=100'), (l) => !l.pending && l.items.some((f) => f.id === from.id));
        assert.deepEqual(complaints, []);
        await done();
    },

    async 'a split that makes nothing of a family says so'() {
        const family = (await api('/v1/families?limit=1')).items[0];
        const { page, done } = await open();
        await page.goto(`${base}/janks/${family.id}`);
        await settled(page);
        const card = page.locator('#by-hand');
        await card.getByLabel('Own frames that tell its stacks apart').selectOption('5');
        await card.getByRole('button', { name: 'Split' }).click();
        await card.getByRole('alert').filter({ hasText: 'makes nothing of it' }).waitFor();
        assert.deepEqual((await api('/v1/family-edits')).items.filter((e) => e.kind === 'split'), []);
        await done();
    },

    async 'who may only look is offered neither'() {
        const family = (await api('/v1/families?limit=1')).items[0];
        const { page, done } = await open({ role: 'read' });
        await page.goto(`${base}/janks/${family.id}`);
        await settled(page);
        assert.equal(await page.getByRole('button', { name: 'Merge' }).count(), 0);
        await page.goto(`${base}/alerts`);
        await settled(page);
        assert.equal(await page.locator('#channels').count(), 0);
        await done();
    },
};
