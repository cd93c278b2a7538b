// Hands a trace to Perfetto's page by its documented handshake: PING until PONG, then the bytes. The
// page keeps them in the browser; nothing is uploaded.
import { ask } from './api';

const ORIGIN = 'https://ui.perfetto.dev';
const EVERY_MS = 100;
const LIMIT_MS = 60000;

export async function openInPerfetto(session: string, title: string) {
    const page = window.open(ORIGIN); // at once, or the browser takes it for a pop-up nobody asked for
    if (!page) throw new Error('popup');
    try {
        const buffer = await (await ask(`/v1/sessions/${session}/trace?format=perfetto`)).arrayBuffer();
        await ready(page);
        page.postMessage({ perfetto: { buffer, title } }, ORIGIN);
    } catch (e) {
        page.close();
        throw e;
    }
}

function ready(page: Window): Promise<void> {
    return new Promise((resolve, reject) => {
        const began = Date.now();
        const timer = setInterval(() => {
            if (Date.now() - began < LIMIT_MS && !page.closed) return page.postMessage('PING', ORIGIN);
            end();
            return reject(new Error('closed'));
        }, EVERY_MS);
        const hear = (e: MessageEvent) => {
            if (e.origin !== ORIGIN || e.source !== page || e.data !== 'PONG') return;
            end();
            resolve();
        };
        const end = () => {
            clearInterval(timer);
            removeEventListener('message', hear);
        };
        addEventListener('message', hear);
    });
}
