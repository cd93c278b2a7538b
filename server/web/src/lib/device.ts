// What a device model is called: emulators, desktops and some phones tell neither maker nor name.
import { t } from './i18n';
import { url, type Query } from './router';

interface Device {
    manufacturer: string | null;
    model: string | null;
    soc?: string;
}

const told = (d: Device) => [d.manufacturer, d.model].filter(Boolean).join(' ');

export const deviceName = (d: Device) => told(d) || d.soc || t('unnamed');

// The sessions of the model; null if it told nothing that sessions are found by.
export const deviceSessions = (d: Device, more: Query = {}) =>
    told(d) ? url('/sessions', { manufacturer: d.manufacturer, model: d.model, ...more }) : null;
