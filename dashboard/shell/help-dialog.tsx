// The keys, and what the numbers mean.
import { Dialog } from '../parts/dialog.tsx';
import { explanations } from '../text/explanations.ts';
import { keyTable } from './keys.ts';

const symbols: Readonly<Record<string, string>> = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' };

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Help" onClose={onClose}>
      <h3>Keys</h3>
      <dl class="help-keys">
        {keyTable.map(({ action, does, keys }) => (
          <div key={action}>
            <dt>
              {keys.map((key) => (
                <span key={key} class="key-choice">
                  {key.split(' ').map((each, at) => (
                    <kbd key={at}>{symbols[each] ?? each}</kbd>
                  ))}
                </span>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>Open the row</dd>
        </div>
      </dl>
      {(['Node', 'Pods', 'Kubelet'] as const).map((subject) => (
        <Terms key={subject} subject={subject} />
      ))}
    </Dialog>
  );
}

function Terms({ subject }: { readonly subject: 'Node' | 'Pods' | 'Kubelet' }) {
  const terms = Object.entries(explanations).filter(([, { about }]) => about === subject);
  return (
    <>
      <h3>What the numbers mean: {subject}</h3>
      <dl class="help-terms">
        {terms.map(([key, { text, title }]) => (
          <div key={key}>
            <dt>{title}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
