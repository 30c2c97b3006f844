import { wholeNumber } from '#lib/command-line';
import { flag, list, optionalParsed, optionalText, text } from '#lib/config';

/** Settings of the dashboard. */
export const CONFIG = {
  kubeconfigPath: text('KUBECONFIG', 'path of the kubeconfig', { fallback: '.agentplane/kubeconfig' }),
  namespace: optionalText('AGENTPLANE_NAMESPACE', 'namespace to show; the context’s own when missing'),
  dataFolder: optionalText('AGENTPLANE_DATA', 'data folder of the platform when it runs on this machine'),
  allNamespaces: flag('AGENTPLANE_ALL_NAMESPACES', 'show every namespace', { fallback: false }),
  views: list('AGENTPLANE_VIEW', 'views to print, or the one to begin with', { fallback: [] }),
  isOnce: flag('AGENTPLANE_ONCE', 'print once and end', { fallback: false }),
  isLinear: flag('AGENTPLANE_LINEAR', 'print lines as things change', { fallback: false }),
  hasMouse: flag('AGENTPLANE_MOUSE', 'take the mouse from the terminal', { fallback: false }),
  restUrl: optionalText('AGENTPLANE_REST_URL', 'address of the REST interface: traces, keys'),
  restCa: optionalText(
    'AGENTPLANE_REST_CA',
    'PEM file of certificates that the REST interface is trusted by',
  ),
  restKeyFd: optionalParsed(
    'AGENTPLANE_REST_KEY_FD',
    'descriptor from which the API key for it is read',
    wholeNumber(0, 65_535),
  ),
  configHome: optionalText('XDG_CONFIG_HOME', 'folder of the user’s settings; ~/.config when missing'),
  home: text('HOME', 'the user’s home folder', { fallback: '/' }),
  visual: optionalText('VISUAL', 'editor, as a command line'),
  browser: optionalText('BROWSER', 'browser, as a command line; %s is the address'),
  display: optionalText('DISPLAY', 'X11 display, without which there is no browser on Linux'),
  waylandDisplay: optionalText('WAYLAND_DISPLAY', 'the same of Wayland'),
  editor: text('EDITOR', 'editor, as a command line', { fallback: 'vi' }),
};
