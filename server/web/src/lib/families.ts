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
    edits: { id: number; kind: string }[];
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
