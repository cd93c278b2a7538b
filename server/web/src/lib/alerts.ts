// Alerts as the API tells them.
import { t } from './i18n';
import type { Tone } from '../ui/pieces';

interface Look {
    scene: string;
    metric: string;
    change: number | null;
    low: number | null;
    high: number | null;
    reason: string;
}
export interface Alert {
    id: number;
    build_id: number;
    baseline_id: number;
    tier: number;
    tier_name: string;
    scene: string;
    metric: string;
    state: string;
    level: string;
    reason: string;
    version: number;
    sessions: number;
    change: number | null;
    low: number | null;
    high: number | null;
    opened_at: string | null;
    resolved_at: string | null;
    looked_at: string | null;
    acknowledged_by: string;
    note: string;
    silenced_until: string | null;
    evidence: {
        value?: number | null;
        baseline?: number | null;
        unit?: string;
        sessions?: number;
        baseline_sessions?: number;
        installs?: number;
        mix?: number | null;
        theta?: number | null;
        ln_e?: number | null;
        same_time?: boolean;
        pairs?: { installs: number; change: number | null; ln_e: number | null } | null;
        scenes?: Look[];
        metrics?: Look[];
        families?: { family: string; title: string; owner: string; events: number; per_session: number | null; baseline_per_session: number | null }[];
        summary?: string;
    };
}

export interface Delivery {
    id: number;
    channel_id: number;
    channel: string;
    via: string;
    kind: string;
    subject: string;
    version: number;
    state: string;
    attempts: number;
    sends: number;
    last_status: number;
    last_error: string;
    next_at: string | null;
    created_at: string;
    tried_at: string | null;
    sent_at: string | null;
}

export const stateOf = (state: string): [Tone, string] =>
    (
        ({
            open: ['bad', t('open')],
            updated: ['bad', t('open, changed')],
            acknowledged: ['warn', t('acknowledged')],
            silenced: ['', t('silenced')],
            resolved: ['good', t('resolved')],
            quiet: ['', t('watched')],
        }) as Record<string, [Tone, string]>
    )[state] ?? ['', state];

export const levelOf = (level: string): [Tone, string] =>
    (
        ({
            alert: ['bad', t('alert')],
            warn: ['warn', t('warning')],
            improved: ['good', t('improved')],
            none: ['', t('nothing')],
        }) as Record<string, [Tone, string]>
    )[level] ?? ['', level];

export const deliveryState = (state: string): [Tone, string] =>
    (
        ({
            pending: ['', t('waiting')],
            sending: ['accent', t('being sent')],
            sent: ['good', t('taken')],
            dead: ['bad', t('given up')],
            suppressed: ['', t('replaced by a newer one')],
        }) as Record<string, [Tone, string]>
    )[state] ?? ['', state];

export const deliveryKind = (kind: string): string => ({ alert: t('alert'), report: t('report'), ticket: t('ticket'), test: t('test') })[kind] ?? kind;
