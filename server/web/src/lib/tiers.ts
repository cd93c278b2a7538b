// The tiers there are, as /v1/tiers tells them.
import { t } from './i18n';
import { tierLabel } from './terms';

export interface Tier {
    tier: number;
    name: string;
    from_ms: number | null;
    to_ms: number | null;
    models: number;
    sessions: number;
}
export interface Tiers {
    version: number | null;
    untiered: number | null;
    placed_at: string | null;
    fitted_at: string | null;
    tiers: Tier[];
}

// Values and names to choose from; the chosen one too if there is no such tier (any more).
export function tierChoices(tiers: Tiers | null, chosen: string): [string, string][] {
    const there = (tiers?.tiers ?? []).filter((x) => x.tier > 0).map((x): [string, string] => [String(x.tier), tierLabel(x.name)]);
    return Number(chosen) > 0 && !there.some(([v]) => v === chosen) ? [...there, [chosen, t('tier {n}', { n: chosen })]] : there;
}
