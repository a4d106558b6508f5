// The entry of the node's page: takes a token out of the address, then mounts the page into the document.
import './app.css';
import { render } from 'preact';
import { Page } from './data/page.ts';
import { App } from './shell/app.tsx';
import { takeToken } from './shell/location.ts';
import { followTheme } from './shell/theme.ts';

const root = document.getElementById('app');
if (root !== null) {
  root.textContent = '';
  const page = new Page();
  takeToken(page);
  followTheme();
  page.start();
  render(<App page={page} />, root);
}
