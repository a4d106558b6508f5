// A modal dialog: the browser keeps the focus inside and gives it back.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ children, onClose, title }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} class="dialog" aria-label={title} onClose={onClose}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="button" onClick={() => element.current?.close()}>
          Close
        </button>
      </div>
      {children}
    </dialog>
  );
}
