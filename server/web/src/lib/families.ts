// Families of stacks as the API tells them.
import { t } from './i18n';

export interface FamilyBuild {
    id: number;
    platform: string;
    version_name: string;
    version_code: number;
}
export interface Counts {
    events: number;
    sessions: number;
    installs: number;
    jank_ms: number;
    of_sessions?: number | null;
    rate?: number | null;
}
export interface Family extends Counts {
    id: string;
    kind: 'jank' | 'crash';
    class: string;
    title: string;
    owner: string | null;
    ignored: boolean;
    provisional: boolean;
    stacks: number;
    first_day: string;
    last_day: string;
    stack: string;
    first_build: FamilyBuild | null;
    last_build: FamilyBuild | null;
    ticket: { id: string; url: string; state: string } | null;
}
export interface FamilyOf {
    sessions: number;
    installs: number;
    foreground_ms: number;
    rules_version: number;
    pending: boolean;
}
export interface Rule {
    field: string;
    pattern: string;
}
export interface WhyFrame {
    frame: number;
    function: string | null;
    name: string | null;
    module: string | null;
    file: string | null;
    line: number | null;
    inlined: boolean;
    status: string;
    use: string;
    because: string;
    rule: Rule | null;
    position: number | null;
}
// Why families were merged without anybody; docs/families.md, section 7.
export type Kin = 'lost' | 'cut' | 'named';
export interface Why {
    sentence: string;
    class: string;
    depth: number;
    names: string[];
    fingerprints: string[];
    edits: { id: number; kind: string; depth: number | null; by_kin: Kin | null; lost: string | null }[];
    owner: { owner: string; rule: Rule | null } | null;
    ignored_by: Rule | null;
    culprit: number | null;
    frames: WhyFrame[];
    provisional: boolean;
}
export interface FamilyDetail extends Family {
    of: FamilyOf;
    why: Why;
    builds: (Counts & { build: FamilyBuild & { registered: boolean } })[];
    tiers: (Counts & { tier: number; tier_name: string })[];
    scenes: (Counts & { scene: string })[];
    devices: (Counts & { device: { id: number; manufacturer: string; model: string; soc: string; tier: number; tier_name: string } })[];
    os_versions: (Counts & { os: string })[];
    causes: (Counts & { cause: string })[];
    days: (Counts & { day: string })[];
}
export interface FamilyStack {
    hash: string;
    events: number;
    title: string;
    class: string;
    state: string;
    why: Why;
}
export interface FamilySession {
    session: string;
    day: string;
    scene: string;
    cause: string;
    start_us: number;
    duration_us: number;
    platform: string;
    version_name: string;
    manufacturer: string | null;
    model: string | null;
    tier: number;
    tier_name: string;
    p90_us: number;
    kept: boolean;
}

export function kinText(kin: Kin, lost: string | null): string {
    if (kin === 'cut') return t('unwinding stopped early in one of them, and it begins like the other');
    const names = { names: lost ?? '' };
    return kin === 'named' ? t('a mapping allows several names for one place, and the other has {names} there', names) : t('they are the same but for frames that compilers lost: {names}', names);
}

export const className = (c: string) =>
    ({
        in_app: t('of the app'),
        system_only: t('system only'),
        suspended: t('suspended'),
        mostly_unknown: t('mostly unknown'),
    })[c] ?? c;

function kinSays(kin: Kin, lost: string | null): string {
    const names = { names: lost ?? '' };
    return kin === 'cut'
        ? t('unwinding stopped early, and it begins like the family it is in')
        : kin === 'named'
          ? t('of the names that a mapping allows, the family it is in has {names}', names)
          : t('kin of the family it is in, but for frames that compilers lost: {names}', names);
}

// Why a stack is in its family, as one sentence. With splits by hand more frames count than the rules ask for.
export function whySays(kind: 'jank' | 'crash', why: Why): string {
    const most = Math.max(why.depth, ...why.edits.map((e) => e.depth ?? 0));
    const names = why.names.slice(0, most);
    const values = { n: names.length, most, names: names.join(' < ') || t('none') };
    const of: Record<string, [() => string, () => string]> = {
        in_app: [
            () => t('Jank stack: its innermost frames of the app ({n} of at most {most}) are {names}', values),
            () => t('Crash stack: its innermost frames of the app ({n} of at most {most}) are {names}', values),
        ],
        system_only: [
            () => t('Jank stack: no frame is the app’s; its innermost named frames ({n} of at most {most}) are {names}', values),
            () => t('Crash stack: no frame is the app’s; its innermost named frames ({n} of at most {most}) are {names}', values),
        ],
        suspended: [
            () => t('Jank stack: the thread was held; its innermost frames ({n} of at most {most}) are {names}', values),
            () => t('Crash stack: the thread was held; its innermost frames ({n} of at most {most}) are {names}', values),
        ],
        mostly_unknown: [
            () => t('Jank stack: too few frames have names; what there is ({n} of at most {most}) are {names}', values),
            () => t('Crash stack: too few frames have names; what there is ({n} of at most {most}) are {names}', values),
        ],
    };
    const head = of[why.class]?.[kind === 'crash' ? 1 : 0]() ?? why.sentence;
    const kin = why.edits.flatMap((e) => (e.by_kin ? [kinSays(e.by_kin, e.lost)] : []));
    return [head, ...kin, ...(why.edits.some((e) => !e.by_kin) ? [t('then merged or split by hand')] : [])].join(t('; '));
}

// Why a frame counts in the fingerprint or does not.
export const frameSays = (f: WhyFrame): string =>
    ({
        counted: t('in-app, part of the fingerprint'),
        beyond: t('in-app, outside the depth'),
        system: t('operating system or language runtime'),
        excluded: t('not the app’s: an exclude rule matches'),
        other: t('not the app’s: no include rule matches'),
        unnamed: t('no symbols: nothing to compare'),
        recursion: t('repeats calls that are there already'),
        glue: t('thunk, accessor or invoker of a closure'),
        base: t('start of the thread or the event loop'),
        pause: t('holds a thread that was told to stop'),
    })[f.use] ?? f.because;

// A title begins with what its class is called, unless that is the app's.
export function familyTitle(title: string): string {
    const [, lead, rest] = /^(system|suspended|unknown): (.*)$/s.exec(title) ?? [];
    const name = (rest ?? title) === 'no frames' ? t('no frames') : (rest ?? title);
    return lead === 'system' ? t('system: {name}', { name }) : lead === 'suspended' ? t('suspended: {name}', { name }) : lead ? t('unknown: {name}', { name }) : name;
}

export const ticketState = (state: string): string => ({ wanted: t('wanted'), open: t('not closed'), closed: t('closed'), gone: t('gone') })[state] ?? state;
