import { render } from 'preact';
import { startLang } from './lib/i18n';
import { startTheme } from './lib/theme';
import { Shell } from './ui/shell';

startTheme();
startLang().then(() => render(<Shell />, document.getElementById('app')!));
