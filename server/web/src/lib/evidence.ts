// What the cause of a jank was taken from. Sessions keep it as an English sentence of one of these forms
// (analysis/profile/cause.c); the page says the same in the reader's language.
import { t } from './i18n';

const form = (text: string) => text;
const forms = [
    form('in {frame}'),
    form('the system warned of low memory at {s} s'),
    form('swap grew by {mb} MB to {all} MB'),
    form('{mb} MB of anonymous memory and swap on {ram} MB of RAM'),
    form('big cores {before} -> {now} MHz at {c} °C, thermal status {status}'),
    form('big cores {before} -> {now} MHz, thermal status {status}'),
    form('frames {before} -> {now} ms in this scene, thermal status {status}'),
    form('threads {before} -> {now}'),
    form('Java heap {before} -> {now} MB'),
    form('GPU {gpu} ms of a frame of {ms} ms'),
    form('main thread waited {waited} of {ms} ms for a core'),
    form('main thread ran {ran} of {ms} ms: blocked on input, output or a lock'),
    form('main thread ran {ran} of {ms} ms'),
    form('all cores together {share} % busy'),
    form('no hardware sample near it'),
    form('nothing stands out'),
].map((text) => ({ text, is: new RegExp(`^${text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+?)')}$`, 's') }));

// Null where no form is like it: then as the server says it.
export function evidenceSays(evidence: string): string | null {
    for (const { text, is } of forms) {
        const found = is.exec(evidence);
        if (found) return t(text, found.groups ?? {});
    }
    return null;
}
