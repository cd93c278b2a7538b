// Channels as the API takes them: which settings and secrets each kind has, and forms of them as text.
import { t } from './i18n';

export interface Channel {
    id: number;
    name: string;
    kind: string;
    takes: string;
    enabled: boolean;
    settings: Record<string, unknown>;
    target: string;
    secrets_set: string[];
    filter: { min_severity: string; tiers: string[]; metrics: string[]; states: string[]; reports: boolean };
    quiet: { from: string; to: string; utc_offset_min: number; loud_severity: string | null } | null;
    rate_per_min: number;
    pending: number;
    dead: number;
    failures: number;
    held_until: string | null;
}

export interface Field {
    name: string;
    label: string;
    required?: boolean;
    as?: 'number' | 'flag' | 'lines' | 'pairs'; // otherwise a text
    hint?: string;
}

export const kindNames: Record<string, string> = {
    slack: 'Slack',
    feishu: 'Feishu',
    dingtalk: 'DingTalk',
    wecom: 'WeCom',
    alertmanager: 'Alertmanager',
    webhook: 'Webhook',
    gitlab: 'GitLab',
    github: 'GitHub',
    jira: 'Jira',
    tapd: 'TAPD',
    ticket_webhook: 'Ticket webhook',
};
export const takesTickets = (kind: string) => ['gitlab', 'github', 'jira', 'tapd', 'ticket_webhook'].includes(kind);

const trackers = (): Field[] => [
    { name: 'labels', label: t('Labels of its tickets, one a line'), as: 'lines' },
    { name: 'owners', label: t('Owners, one a line: owner = user there'), as: 'pairs' },
];

export function settingsOf(kind: string): Field[] {
    switch (kind) {
        case 'alertmanager':
            return [
                { name: 'url', label: t('Address'), required: true, hint: 'https://alertmanager.example.org' },
                { name: 'username', label: t('User') },
                { name: 'resend_s', label: t('Told again every, s'), as: 'number', hint: '60' },
                { name: 'labels', label: t('Labels, one a line: name = value'), as: 'pairs' },
            ];
        case 'gitlab':
            return [
                { name: 'project', label: t('Project'), required: true, hint: 'group/name' },
                { name: 'url', label: t('Address'), hint: 'https://gitlab.com' },
                { name: 'confidential', label: t('confidential issues'), as: 'flag' },
                ...trackers(),
            ];
        case 'github':
            return [
                { name: 'repository', label: t('Repository'), required: true, hint: 'owner/name' },
                { name: 'url', label: t('Address'), hint: 'https://api.github.com' },
                ...trackers(),
            ];
        case 'jira':
            return [
                { name: 'url', label: t('Address'), required: true, hint: 'https://example.atlassian.net' },
                { name: 'project', label: t('Project'), required: true, hint: 'GAME' },
                { name: 'username', label: t('User') },
                { name: 'issue_type', label: t('Type of issue'), hint: 'Bug' },
                { name: 'flavour', label: t('cloud or server'), hint: 'cloud' },
                { name: 'reopen_transition', label: t('Transition that opens it again') },
                ...trackers(),
            ];
        case 'tapd':
            return [
                { name: 'workspace', label: t('Workspace'), required: true },
                { name: 'username', label: t('User'), required: true },
                { name: 'url', label: t('Address'), hint: 'https://api.tapd.cn' },
                { name: 'page_url', label: t('Address of its pages'), hint: 'https://www.tapd.cn' },
                { name: 'reporter', label: t('Reporter') },
                { name: 'reopen_status', label: t('State when opened again'), hint: 'reopened' },
                { name: 'closed_statuses', label: t('Closed states, one a line'), as: 'lines' },
                ...trackers(),
            ];
        default:
            return [];
    }
}

export function secretsOf(kind: string): Field[] {
    const url = { name: 'url', label: t('Address of the webhook'), required: true };
    switch (kind) {
        case 'slack':
        case 'wecom':
            return [url];
        case 'feishu':
        case 'dingtalk':
            return [url, { name: 'key', label: t('Key that signs') }];
        case 'webhook':
        case 'ticket_webhook':
            return [url, { name: 'key', label: t('Key that signs'), required: true }];
        case 'alertmanager':
            return [
                { name: 'token', label: t('Token') },
                { name: 'password', label: t('Password') },
            ];
        case 'tapd':
            return [{ name: 'password', label: t('Password'), required: true }];
        default:
            return [{ name: 'token', label: t('Token'), required: true }];
    }
}

// A setting as a form's text, and back; undefined where nothing stands.
export function toText(value: unknown): string {
    if (value === undefined || value === null) return '';
    if (Array.isArray(value)) return value.join('\n');
    if (typeof value === 'object') return Object.entries(value).map(([name, v]) => `${name} = ${String(v)}`).join('\n');
    return String(value);
}
export function fromText(field: Field, text: string): unknown {
    const lines = text.split('\n').map((l) => l.trim()).filter(Boolean);
    switch (field.as) {
        case 'flag':
            return text === 'true' || undefined;
        case 'number':
            return lines.length ? Number(lines[0]) : undefined;
        case 'lines':
            return lines.length ? lines : undefined;
        case 'pairs':
            return lines.length
                ? Object.fromEntries(
                      lines.map((l) => {
                          const at = l.indexOf('=');
                          if (at < 1) throw new Error(t('“{line}” has no “=”', { line: l }));
                          return [l.slice(0, at).trim(), l.slice(at + 1).trim()];
                      }),
                  )
                : undefined;
        default:
            return text.trim() || undefined;
    }
}
