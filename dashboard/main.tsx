// The entry of the node's page: mounts it into the document.
import './app.css';
import { render } from 'preact';

const root = document.getElementById('app');
if (root !== null) render(<p>Connecting to the kubelet …</p>, root);
