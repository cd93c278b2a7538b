// To a span of the session's timeline, from anywhere on its page.
import { setQuery } from '../../lib/router';

const seconds = (us: number) => Number((us / 1e6).toFixed(3));

export function look(from: number, to: number) {
    setQuery({ t0: Math.max(0, seconds(from)), t1: seconds(to) });
    document.getElementById('timeline')?.scrollIntoView({ block: 'start', behavior: 'smooth' });
}
